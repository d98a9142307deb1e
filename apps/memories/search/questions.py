"""Parse a query: who it asks about, and the text to search for. Without database access."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2

from sentencex import segment

MAX_SENTENCES = 5
MAX_DIVIDED = 20_000  # characters at the end of a query that are divided into sentences
MAX_DOUBLINGS = 2  # of the user's mean length; longer replies don't raise the preference further

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


def parse_query(query: str, speakers: Sequence[Speaker], *, separate_names: bool) -> ParsedQuery:
    """Parse ``query``. With ``separate_names`` the speakers' names are removed from its text.

    A text that names somebody is similar to every text that addresses them ("Yeah, Maria!"), so the subject is
    matched with the speaker of a message instead.
    """
    if not separate_names:
        return ParsedQuery(query, sentences_of(query))
    text = _remove_names([speaker.name for speaker in speakers], query)
    return ParsedQuery(text, sentences_of(text), subjects_of(query, speakers))


def sentences_of(text: str) -> tuple[str, ...]:
    """Return up to five sentences: questions before statements, later before earlier; none if there is only one.

    Of a very long text they are of its end: to divide it may take time that grows with the square of its length.
    """
    sentences = [sentence.strip() for sentence in segment("en", text[-MAX_DIVIDED:])]
    sentences = [sentence for sentence in sentences if re.search(r"\w\w", sentence)]
    latest_first = sentences[::-1]
    ranked = sorted(latest_first, key=lambda sentence: not sentence.endswith("?"))
    return tuple(ranked[:MAX_SENTENCES]) if len(sentences) > 1 else ()


def subjects_of(query: str, speakers: Sequence[Speaker]) -> frozenset[str]:
    """Return the speakers that the query is about: those it names, else the side that its pronouns refer to.

    "I" is the user and "you" is whoever answers. Return an empty set if that would be all speakers.
    """
    named = {speaker.name for speaker in speakers if mentions(query, speaker.name)}
    if not named:
        first, second = bool(_FIRST_PERSON.search(query)), bool(_SECOND_PERSON.search(query))
        named = {speaker.name for speaker in speakers if first != second and speaker.is_user == first}
    return frozenset() if len(named) == len({speaker.name for speaker in speakers}) else frozenset(named)


def vector_preference(speakers: Iterable[Speaker]) -> float:
    """Return how far vectors are preferred to words, 0 to 1. It grows with the ratio of reply to question length.

    Long replies contain many words, so that a matching word means little.
    """
    user, other = (_mean_length(speakers, is_user) for is_user in (True, False))
    if not user or not other:
        return 0.0
    return min(max(log2(other / user), 0.0), MAX_DOUBLINGS) / MAX_DOUBLINGS


def _mean_length(speakers: Iterable[Speaker], is_user: bool) -> float:
    matching = [speaker for speaker in speakers if speaker.is_user == is_user]
    return sum(speaker.words for speaker in matching) / max(sum(speaker.turns for speaker in matching), 1)


def mentions(text: str, name: str) -> bool:
    """Return whether ``text`` contains a name, or its first part.

    Case counts in a text with capital letters, so that "will" is not Will.
    """
    return bool(re.search(_names_pattern([name]), text, _case_flag(text))) if name.strip() else False


def _remove_names(names: Sequence[str], text: str) -> str:
    """Return ``text`` without names and their possessives, or unchanged if no word would remain."""
    non_blank = [name for name in names if name.strip()]
    if not non_blank:
        return text
    remaining = re.sub(_names_pattern(non_blank) + r"(['’]s)?", "", text, flags=_case_flag(text))
    return re.sub(r"[ \t]+", " ", remaining).strip() if re.search(r"\w\w", remaining) else text


def _names_pattern(names: Sequence[str]) -> str:
    """Return a pattern of names and their first parts. Longer forms come first: the first alternative wins."""
    forms = {form for name in names for form in (name.strip(), name.split()[0])}
    return r"(?<!\w)(?:" + "|".join(map(re.escape, sorted(forms, key=len, reverse=True))) + r")(?!\w)"


def _case_flag(text: str) -> re.RegexFlag:
    return re.IGNORECASE if text == text.lower() else re.NOFLAG
