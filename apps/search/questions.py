"""Parse a query: its kind, who it asks about, and the text to search for. Without database access.

A running dialogue, of which each line begins with a name, asks for nothing: what was said is like it as a whole, or
like one of its lines, and about those who talk. Anything else is read as a question.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import log2
from typing import Literal

from apps.search.pronouns import persons_in
from apps.text.sentences import sentences_in
from apps.text.words import UNSPACED, word_count

MAX_SENTENCES = 5
MAX_DIVIDED = 20_000  # characters at the end of a query that are divided into sentences
MIN_LINES, MAX_LINES = 2, 8  # of a dialogue: as many make one, and so many at its end are compared alone
FEW_WORDS = 2
MAX_DOUBLINGS = 2  # of the user's mean length; longer replies don't raise the preference further

_ASSISTANT = re.compile(r"(an )?(assistant|ai|bot|model|chatgpt|gpt\b.*|claude\b.*|gemini\b.*|助手)", re.IGNORECASE)
_DECLINED = re.compile(r"[А-ЯЁ][а-яё]{3,}")  # names that have other endings within a sentence
_ENDING = "(?:[аяуюыиеёйь]|[оеё][йм]|ью)?"
_LINE = re.compile(r"^[ \t]*([^\W\d_][\w .'’-]{0,30}?)[ \t]?[:：][ \t]*(\S.*)$", re.MULTILINE)


@dataclass(frozen=True)
class Speaker:
    """A speaker in the searched messages, with the number of their turns and words."""

    name: str
    is_user: bool
    turns: int
    words: int


@dataclass(frozen=True)
class ParsedQuery:
    """A query: the ``text`` to search for, its ``sentences``, and the names of its ``subjects``.

    Of a dialogue the sentences are lines, and the subjects those who talk, whether or not they spoke in the messages.
    ``times`` are the lexemes of the time that is asked about.
    """

    text: str
    sentences: tuple[str, ...]
    subjects: frozenset[str] = frozenset()
    is_dialogue: bool = False
    times: frozenset[str] = frozenset()


def parse_query(query: str, speakers: Sequence[Speaker], *, separate_names: bool) -> ParsedQuery:
    """Parse ``query``. With ``separate_names`` the speakers' names are removed from its text.

    A text that names somebody is similar to every text that addresses them ("Yeah, Maria!"), so the subject is
    matched with the speaker of a message instead.
    """
    if not separate_names:
        return ParsedQuery(query, sentences_of(query))
    if kind_of(query) == "dialogue":
        lines = _LINE.findall(query[-MAX_DIVIDED:])
        names = list(dict.fromkeys(name for name, _ in reversed(lines)))[:MAX_LINES]
        return ParsedQuery(query, tuple(text for _, text in lines[-MAX_LINES:]), frozenset(names), True)
    text = _remove_names([speaker.name for speaker in speakers], query)
    return ParsedQuery(text, sentences_of(text), subjects_of(query, speakers))


def kind_of(query: str) -> Literal["dialogue", "question", "words"]:
    """Return what a query is: a running dialogue, a question or statement, or a few words and codes."""
    if len(_LINE.findall(query[-MAX_DIVIDED:])) >= MIN_LINES:
        return "dialogue"
    return "words" if word_count(query) <= FEW_WORDS else "question"


def sentences_of(text: str) -> tuple[str, ...]:
    """Return up to five sentences: questions before statements, later before earlier; none if there is only one.

    Of a very long text they are of its end: to divide it may take time that grows with the square of its length.
    """
    sentences = [sentence for sentence in sentences_in(text[-MAX_DIVIDED:]) if re.search(r"\w\w", sentence)]
    latest_first = sentences[::-1]
    ranked = sorted(latest_first, key=lambda sentence: not sentence.endswith(("?", "？")))
    return tuple(ranked[:MAX_SENTENCES]) if len(sentences) > 1 else ()


def subjects_of(query: str, speakers: Sequence[Speaker]) -> frozenset[str]:
    """Return the speakers that the query is about: those it names, else the side that its pronouns refer to.

    "I" is the user and "you" is whoever answers; an assistant is asked about what the user said where nothing tells
    otherwise. Return an empty set if that would be all speakers.
    """
    named = {speaker.name for speaker in speakers if mentions(query, speaker.name)}
    if not named:
        first, second = persons_in(query)
        if first == second:
            return _users_of_assistant(speakers)
        named = {speaker.name for speaker in speakers if speaker.is_user == first}
    return frozenset() if len(named) == len({speaker.name for speaker in speakers}) else frozenset(named)


def _users_of_assistant(speakers: Sequence[Speaker]) -> frozenset[str]:
    """Return the names of those who talk to an assistant; none if anybody else does too."""
    others = [speaker for speaker in speakers if not speaker.is_user]
    is_assistant = bool(others) and all(_ASSISTANT.fullmatch(speaker.name.strip()) for speaker in others)
    return frozenset(speaker.name for speaker in speakers if speaker.is_user and is_assistant)


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
    return "(?:" + "|".join(map(_form_pattern, sorted(forms, key=len, reverse=True))) + ")"


def _form_pattern(form: str) -> str:
    """Return a pattern of a name as a word of its own; in a script without spaces it may stand between any others."""
    if UNSPACED.search(form):
        return re.escape(form)
    if _DECLINED.fullmatch(form):
        return rf"(?<!\w){re.escape(form.rstrip('аяьй'))}{_ENDING}(?!\w)"
    return rf"(?<!\w){re.escape(form)}(?!\w)"


def _case_flag(text: str) -> re.RegexFlag:
    return re.IGNORECASE if text == text.lower() else re.NOFLAG
