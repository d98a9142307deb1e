"""Reads a query: whom it asks about, and what is left to look for."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2

from sentencex import segment

MAX_SENTENCES = 5
LONGEST_LEAD = 2  # doublings of the user's length beyond which a longer counterpart changes nothing more

_FIRST_PERSON = re.compile(r"\b(i|me|my|mine|myself|we|us|our|ours)\b", re.IGNORECASE)
_SECOND_PERSON = re.compile(r"\b(you|your|yours|yourself)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Participant:
    """Somebody who speaks in the messages searched, with how much they say."""

    name: str
    is_user: bool
    turns: int
    words: int


@dataclass(frozen=True)
class Question:
    """``text`` is what to look for; ``subjects`` are the names of those whom it is about, empty for nobody."""

    text: str
    sentences: tuple[str, ...]
    subjects: frozenset[str] = frozenset()


def read_question(query: str, participants: Sequence[Participant], *, names_apart: bool) -> Question:
    """Understand ``query``. With ``names_apart`` the participants' names are taken out of its text.

    A text that names somebody is near to every text that addresses them ("Yeah, Maria!"); whom a question is about
    is better known from who speaks.
    """
    if not names_apart:
        return Question(query, sentences_of(query))
    text = _without([participant.name for participant in participants], query)
    return Question(text, sentences_of(text), subjects_of(query, participants))


def sentences_of(text: str) -> tuple[str, ...]:
    """Up to five sentences: questions before statements, later before earlier. None when there is only one."""
    sentences = [sentence.strip() for sentence in segment("en", text)]
    sentences = [sentence for sentence in sentences if re.search(r"\w\w", sentence)]
    latest_first = sentences[::-1]
    ranked = sorted(latest_first, key=lambda sentence: not sentence.endswith("?"))
    return tuple(ranked[:MAX_SENTENCES]) if len(sentences) > 1 else ()


def subjects_of(query: str, participants: Sequence[Participant]) -> frozenset[str]:
    """The participants whom the query is about: those it names, else the side that its pronouns mean.

    In a query of the user's own, "I" is the user and "you" is whoever answers. Everybody is as good as nobody.
    """
    named = {participant.name for participant in participants if mentions(query, participant.name)}
    if not named:
        mine, yours = bool(_FIRST_PERSON.search(query)), bool(_SECOND_PERSON.search(query))
        named = {p.name for p in participants if mine != yours and p.is_user == mine}
    return frozenset() if len(named) == len({p.name for p in participants}) else frozenset(named)


def lead_of_vectors(participants: Iterable[Participant]) -> float:
    """How far vectors are to be trusted over words, 0 to 1: the more, the longer-winded the user's counterpart is.

    Long replies touch upon many words, and matching them says little.
    """
    user, other = (_mean_length(participants, is_user) for is_user in (True, False))
    if not user or not other:
        return 0.0
    return min(max(log2(other / user), 0.0), LONGEST_LEAD) / LONGEST_LEAD


def _mean_length(participants: Iterable[Participant], is_user: bool) -> float:
    side = [participant for participant in participants if participant.is_user == is_user]
    return sum(p.words for p in side) / max(sum(p.turns for p in side), 1)


def mentions(text: str, name: str) -> bool:
    """Whether ``text`` names somebody, by the whole name or the first part of it.

    In a text with capital letters a name has one too, so that "will" is not Will.
    """
    return bool(re.search(_pattern([name]), text, _case(text))) if name.strip() else False


def _without(names: Sequence[str], text: str) -> str:
    """``text`` without names and their genitives; as it was if nothing would be left."""
    given = [name for name in names if name.strip()]
    if not given:
        return text
    left = re.sub(_pattern(given) + r"(['’]s)?", "", text, flags=_case(text))
    return re.sub(r"[ \t]+", " ", left).strip() if re.search(r"\w\w", left) else text


def _pattern(names: Sequence[str]) -> str:
    """Whole names before their first parts, which would hide them."""
    forms = {form for name in names for form in (name.strip(), name.split()[0])}
    return r"(?<!\w)(?:" + "|".join(map(re.escape, sorted(forms, key=len, reverse=True))) + r")(?!\w)"


def _case(text: str) -> re.RegexFlag:
    return re.NOFLAG if any(letter.isupper() for letter in text) else re.IGNORECASE
