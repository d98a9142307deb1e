"""Split a statement into clauses, with uniform spelling and resolved pronouns. Pure.

First and third person pronouns are replaced by the person they refer to if that is certain, so that ``Mira: “I live in
Paris.”`` equals ``Mira lives in Paris.``; ``The user``, ``{{user}}`` and ``I`` without a speaker are one person.
"""

import re
from dataclasses import dataclass
from functools import cached_property, lru_cache

from apps.english.names import CALENDAR, MAY, is_name, key_of
from apps.english.numbers import digits, multiplied
from apps.english.words import WORD

USER = "user"  # the speaker of a statement that names none
_SPEAKER = re.compile(r"^(?P<name>[^:“\"\n]{1,60}): (?P<said>.*)$", re.DOTALL)
# Uniform spellings, and contractions written out; patterns ignore case and apply in this order.
_WRITTEN = [
    (r"\{\{user\}\}|\bthe (?:user|player)\b", "User"),
    (r"\{\{char\}\}", "Char"),
    (r"[“\"‘]((?:[\w'’-]+ ?){1,3})[”\"’](?=\W|$)", r"\1"),
    (r"\b(?:a )?(?:pair|couple) of\b", "two"),
    (r"\b(mr|mrs|ms|dr|st)\.", r"\1"),
    (r"(?<=\d),(?=\d{3}\b)|[$€£](?=\d)", ""),
    (r"(\d)(?:st|nd|rd|th)\b", r"\1"),
    (r"(\d)\s+([ap])\.?m\b", r"\1\2m"),
    (r"(\d)(kg|km|cm|lbs?|gb|mb)\b", r"\1 \2"),
    (r"\bcan['’]t\b|\bcannot\b", "can not"),
    (r"\bwon['’]t\b", "will not"),
    (r"n['’]t\b", " not"),
    (r"\b(i)['’]m\b", r"\1 am"),
    (r"['’]re\b", " are"),
    (r"['’]ve\b", " have"),
    (r"['’]ll\b", " will"),
    (r"\b(\w+) o['’]clock\b", r"\1"),
    (r"\b(is|are|was|were|of) mine\b", r"\1 my-own"),  # the pronoun, not a mine
    (r"\b(he|she|it|that|there|who|what)['’]s\b", r"\1 is"),
]
_SPELLINGS = [(re.compile(pattern, re.IGNORECASE), full) for pattern, full in _WRITTEN]
# A clause ends at these signs and before these words.
_BREAK = re.compile(
    r"(?<!\d)[.,:]+\s*|[.,:]+(?!\d)\s*|[;!?()“”\"–—]+\s*|\s+(?=(?:but|because|when|while|which|who|although|though|since)\b)",
    re.IGNORECASE,
)
_ANAPHORA = frozenset("he she they who".split())
_POSSESSIVE_ANAPHORA = frozenset("his her their".split())
_AFTER_AN_OBJECT = frozenset("to from in on at for with and or by back away again about of as".split())


@dataclass(frozen=True)
class Clause:
    """The words of a clause in lower case, possessives as ``mira's``, and those among them that are names."""

    words: tuple[str, ...]
    names: frozenset[str]

    @cached_property
    def text(self) -> str:
        return " ".join(self.words)


def split_speaker(text: str) -> tuple[str, str]:
    """Split ``Mira: “I live in Paris.”`` into the speaker, empty if nobody is named, and the speech."""
    match = _SPEAKER.match(text)
    return (match["name"], match["said"].strip("“”\"' ")) if match else ("", text)


@lru_cache(maxsize=4096)
def clauses(text: str) -> tuple[Clause, ...]:
    """Return the statement's clauses in order."""
    speaker, said = split_speaker(text)
    for pattern, full in _SPELLINGS:
        said = pattern.sub(full, said)
    found: list[Clause] = []
    who, subject = key_of(speaker), ""  # "she", said by Mira, is not Mira
    for part in filter(None, map(str.strip, _BREAK.split(said))):
        clause = _clause(part, who or USER, subject, begins=not found)
        subject = next((word for word in clause.words if word in clause.names - CALENDAR), subject)
        found.append(clause)
    return tuple(found)


def _clause(part: str, speaker: str, subject: str, *, begins: bool) -> Clause:
    words: list[str] = []
    names: set[str] = set()
    raw = WORD.findall(part.replace("’", "'"))
    for position, written in enumerate(raw):
        spoken = MAY if written == "May" and position else written.lower()
        word = _resolved(spoken, raw[position + 1 : position + 2], speaker, subject)
        if is_name(written, first=begins and position == 0) or word != spoken or word == MAY:
            names.add(word.removesuffix("'s"))
            subject = subject if word in CALENDAR else word.removesuffix("'s")
        words.append(digits(word))
    return Clause(multiplied(words), frozenset(names))


def _resolved(word: str, following: list[str], speaker: str, subject: str) -> str:
    if word in ("i", "me", "myself", "we", "us"):
        return speaker
    if word in ("my", "my-own", "our", "ours"):
        return f"{speaker}'s"
    if word in _ANAPHORA and word != "who":
        return subject or f"{word}-unnamed"
    if word == "who" and subject:
        return subject
    if word in _POSSESSIVE_ANAPHORA and following and following[0].lower() not in _AFTER_AN_OBJECT:
        return f"{subject or word}'s"
    return word
