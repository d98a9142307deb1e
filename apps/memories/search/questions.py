"""Parse a query: who it asks about, and the text to search for. Pure."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2

from sentencex import segment

MAX_SENTENCES = 5
LONGEST_LEAD = 2  # doublings of the user's length; longer replies change nothing more

_FIRST_PERSON = re.compile(r"\b(i|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_SECOND_PERSON = re.compile(r"\b(you|your|yours|yourself)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Speaker:
    """A speaker in the searched messages, with the number of their turns and words."""

    name: str
    is_user: bool
    turns: int
    words: int


@dataclass(frozen=True)
class ParsedQuery:
    """A query: the ``text`` to search for, its ``sentences``, and the names of its ``subjects``."""

    text: str
    sentences: tuple[str, ...]
    subjects: frozenset[str] = frozenset()


def parse_query(query: str, speakers: Sequence[Speaker], *, names_apart: bool) -> ParsedQuery:
    """Parse ``query``. With ``names_apart`` the speakers' names are removed from its text.

    A text that names somebody is similar to every text that addresses them ("Yeah, Maria!"), so the subject is
    matched with the speaker of a message instead.
    """
    if not names_apart:
        return ParsedQuery(query, sentences_of(query))
    text = _without([speaker.name for speaker in speakers], query)
    return ParsedQuery(text, sentences_of(text), subjects_of(query, speakers))


def sentences_of(text: str) -> tuple[str, ...]:
    """Return up to five sentences: questions before statements, later before earlier. None if there is only one."""
    sentences = [sentence.strip() for sentence in segment("en", text)]
    sentences = [sentence for sentence in sentences if re.search(r"\w\w", sentence)]
    latest_first = sentences[::-1]
    ranked = sorted(latest_first, key=lambda sentence: not sentence.endswith("?"))
    return tuple(ranked[:MAX_SENTENCES]) if len(sentences) > 1 else ()


def subjects_of(query: str, speakers: Sequence[Speaker]) -> frozenset[str]:
    """Return the speakers that the query is about: those it names, else the side that its pronouns mean.

    "I" is the user and "you" is whoever answers. Return an empty set if that would be all speakers.
    """
    named = {speaker.name for speaker in speakers if mentions(query, speaker.name)}
    if not named:
        mine, yours = bool(_FIRST_PERSON.search(query)), bool(_SECOND_PERSON.search(query))
        named = {p.name for p in speakers if mine != yours and p.is_user == mine}
    return frozenset() if len(named) == len({p.name for p in speakers}) else frozenset(named)


def lead_of_vectors(speakers: Iterable[Speaker]) -> float:
    """Return how far vectors are preferred to words, 0 to 1. It grows with the length of replies against the user's.

    Long replies contain many words, so that matching words says little.
    """
    user, other = (_mean_length(speakers, is_user) for is_user in (True, False))
    if not user or not other:
        return 0.0
    return min(max(log2(other / user), 0.0), LONGEST_LEAD) / LONGEST_LEAD


def _mean_length(speakers: Iterable[Speaker], is_user: bool) -> float:
    side = [speaker for speaker in speakers if speaker.is_user == is_user]
    return sum(p.words for p in side) / max(sum(p.turns for p in side), 1)


def mentions(text: str, name: str) -> bool:
    """Return whether ``text`` contains a name, or its first part.

    Case counts in a text with capital letters, so that "will" is not Will.
    """
    return bool(re.search(_pattern([name]), text, _case(text))) if name.strip() else False


def _without(names: Sequence[str], text: str) -> str:
    """Return ``text`` without names and their genitives, or unchanged if nothing would be left."""
    given = [name for name in names if name.strip()]
    if not given:
        return text
    left = re.sub(_pattern(given) + r"(['’]s)?", "", text, flags=_case(text))
    return re.sub(r"[ \t]+", " ", left).strip() if re.search(r"\w\w", left) else text


def _pattern(names: Sequence[str]) -> str:
    """Return a pattern of names and their first parts. Longer forms come first: the first alternative wins."""
    forms = {form for name in names for form in (name.strip(), name.split()[0])}
    return r"(?<!\w)(?:" + "|".join(map(re.escape, sorted(forms, key=len, reverse=True))) + r")(?!\w)"


def _case(text: str) -> re.RegexFlag:
    return re.NOFLAG if any(letter.isupper() for letter in text) else re.IGNORECASE
