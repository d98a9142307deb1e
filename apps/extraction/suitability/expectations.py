"""What should be found in a reply, and what should not, however it is worded. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

SHORT = 2  # letters; a longer word also stands for those that begin with it ("drown" for "drowned")
_WORD = re.compile(r"[^\W_]+")


@dataclass(frozen=True)
class Line:
    """Something that a reply says: of which kind, of whom (where the form has a place for that), and what."""

    text: str
    kind: str = ""
    who: str = ""


@dataclass(frozen=True)
class Expectation:
    """Something that a reply should say, or, where it is not ``present``, must not.

    A line meets it that has one of each of ``words``, alternatives parted by bars, whole or as the beginning of a
    word; is of one of ``kinds``, where there are any; and is about ``who``, where that is somebody.
    """

    what: str
    words: tuple[str, ...]
    present: bool = True
    kinds: tuple[str, ...] = ()
    who: str = ""

    def is_met_by(self, line: Line) -> bool:
        if self.kinds and line.kind not in self.kinds:
            return False
        if self.who and not _says(line.who, self.who):
            return False
        return all(_says(line.text, alternatives) for alternatives in self.words)


def forbidden(what: str, *words: str, kinds: tuple[str, ...] = (), who: str = "") -> Expectation:
    """What a reply must not say; ``what`` tells a person about it, in a sentence."""
    return Expectation(what, words, present=False, kinds=kinds, who=who)


def expected(what: str, *words: str, kinds: tuple[str, ...] = (), who: str = "") -> Expectation:
    return Expectation(what, words, kinds=kinds, who=who)


def met(expectations: Iterable[Expectation], lines: Iterable[Line]) -> list[Expectation]:
    """Those of the expectations that some line meets."""
    lines = list(lines)
    return [one for one in expectations if any(one.is_met_by(line) for line in lines)]


def _says(text: str, alternatives: str) -> bool:
    said = f" {' '.join(_WORD.findall(text.casefold()))} "
    return any(_has(said, phrase) for phrase in alternatives.casefold().split("|"))


def _has(said: str, phrase: str) -> bool:
    return f" {phrase}{' ' if len(phrase) <= SHORT else ''}" in said
