"""Facts that a reply should or must not contain, matched by word stems. Without database access."""

import re
from collections.abc import Collection, Iterable
from dataclasses import dataclass

MAX_EXACT_CHARS = 2  # longer words match also as the beginning of a word ("drown" matches "drowned")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class ReplyStatement:
    """Statement that a reply makes: its text, its kind, and its subject if the format names one."""

    text: str
    kind: str = ""
    who: str = ""


@dataclass(frozen=True)
class Expectation:
    """Fact that a reply should contain, or must not contain unless ``present``.

    A statement meets it if it contains one alternative of each of ``words``, as a word or the beginning of one, has
    one of ``kinds`` and is about ``who``. Alternatives are separated by bars; empty ``kinds`` and ``who`` match any.
    """

    description: str
    words: tuple[str, ...]
    present: bool = True
    kinds: tuple[str, ...] = ()
    who: str = ""

    def is_met_by(self, statement: ReplyStatement) -> bool:
        """Return whether a statement meets the expectation."""
        if self.kinds and statement.kind not in self.kinds:
            return False
        if self.who and not _contains(statement.who, self.who):
            return False
        return all(_contains(statement.text, alternatives) for alternatives in self.words)


def met_expectations(expectations: Iterable[Expectation], statements: Collection[ReplyStatement]) -> list[Expectation]:
    """Return the expectations that at least one statement meets."""
    return [expectation for expectation in expectations if any(map(expectation.is_met_by, statements))]


def _contains(text: str, alternatives: str) -> bool:
    words = f" {' '.join(_WORD.findall(text.casefold()))} "
    phrases = alternatives.casefold().split("|")
    return any(f" {phrase}{' ' if len(phrase) <= MAX_EXACT_CHARS else ''}" in words for phrase in phrases)
