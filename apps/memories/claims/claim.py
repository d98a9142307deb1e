"""A claim, and the words of a clause that make one. Pure."""

import re
from collections.abc import Iterable
from dataclasses import dataclass

from apps.memories.lexicon import members
from apps.memories.wording import STOP_WORDS, Clause, stem

Words = frozenset[str]
NOTHING: Words = frozenset()


@dataclass(frozen=True)
class Claim:
    """``subject`` has ``value`` for ``attribute`` of ``thing``. ``moves``: the statement tells of the change
    itself."""

    attribute: str
    subject: Words
    value: Words
    thing: Words = NOTHING
    names: Words = NOTHING
    moves: bool = False


PREPOSITION = re.compile(
    r"\b(?:to|from|in|on|at|for|with|under|into|behind|near|by|because|until|away|after|before|through|across|during)\b"
)
_FILLERS = STOP_WORDS | frozenset(
    "old new little small big long good very much quite rather own real true called named alone together time "
    "thing things "
    "people way lot kind".split()
)
_VALUE_ENDS = re.compile(r"\b(?:with|and|for|since|because|after|before|from|where|until|as|in \d+|by)\b")


def phrases(*alternatives: str) -> re.Pattern[str]:
    """A pattern of any of the patterns, between the edges of words."""
    return re.compile(r"\b(?:" + "|".join(alternatives) + r")\b")


def content(words: str) -> Words:
    """The stems of the words that carry meaning; possessives stay apart from the names themselves."""
    return frozenset(
        word if word.endswith("'s") else stem(word) for word in words.split() if word not in _FILLERS and word != "'s"
    )


KIN = members("kin") | content("mum mummy grandma grandpa granddad nan son daughter child kid")
LIVING = members("person") | members("animal") | KIN


def before(clause: Clause, match: re.Match[str]) -> Words:
    return content(clause.text[: match.start()])


def after(clause: Clause, match: re.Match[str], words: int = 4) -> Words:
    """The first few words of meaning behind a match, up to the next preposition that begins something else."""
    rest = _VALUE_ENDS.split(clause.text[match.end() :])[0]
    return frozenset(word for word in content(" ".join(rest.split()[: words + 3])))


def claim(clause: Clause, attribute: str, subject: Words, value: Words, **more: object) -> Claim:
    names = frozenset(stem(name) for name in clause.names) | frozenset(f"{name}'s" for name in clause.names)
    return Claim(attribute, subject, value, names=names, **more)  # type: ignore[arg-type]


def people(clause: Clause) -> Words:
    """Whom a clause names, be it as an owner."""
    return frozenset(stem(name) for name in clause.names) | {word[:-2] for word in owners(clause.words)}


def negated(clause: Clause) -> bool:
    return bool(re.search(r"\b(?:not|never|no longer|without|nobody|no)\b", clause.text))


def owners(words: Iterable[str]) -> Words:
    """The possessives among the words."""
    return frozenset(word for word in words if word.endswith("'s"))


def without_people(words: Words, clause: Clause) -> Words:
    people = frozenset(stem(name) for name in clause.names) | owners(clause.words)
    return words - people
