"""Split a statement into clauses, with uniform spelling and resolved pronouns. Without database access.

Pronouns of the first and third person are replaced by the person they refer to if that is certain: ``Mira: “I live in
Paris.”`` equals ``Mira lives in Paris.``. ``The user``, ``{{user}}`` and ``I`` without a speaker are one person.
"""

import re
from dataclasses import dataclass
from functools import cached_property

from apps.english.kept import keep_results
from apps.english.names import CALENDAR, MAY, is_name, name_key
from apps.english.numbers import multiply_factors, to_digits
from apps.english.words import WORD

USER = "user"  # the speaker of a statement that names none
_SPEAKER = re.compile(r"^(?P<name>[^:“\"\n]{1,60}): (?P<speech>.*)$", re.DOTALL)
# Spelling variants and contractions, replaced in this order; patterns ignore case.
_REPLACEMENT_PATTERNS = [
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
_REPLACEMENTS = [(re.compile(pattern, re.IGNORECASE), replacement) for pattern, replacement in _REPLACEMENT_PATTERNS]
# A clause ends at these punctuation marks and before these conjunctions and pronouns. Spaces are read once, not again
# from each of them.
_CLAUSE_BREAK = re.compile(
    r"(?<!\d)[.,:]+\s*|[.,:]+(?!\d)\s*|[;!?()“”\"–—]+\s*|(?<!\s)\s++(?=(?:but|because|when|while|which|who|although|though|since)\b)",
    re.IGNORECASE,
)
_ANAPHORA = frozenset("he she they who".split())
_POSSESSIVE_ANAPHORA = frozenset("his her their".split())
# Words after which "his", "her" or "their" is an object, as in "gave her to".
_NOT_POSSESSED = frozenset("to from in on at for with and or by back away again about of as".split())


@dataclass(frozen=True)
class Clause:
    """Words of a clause in lower case, possessives as ``mira's``, and those of them that are names."""

    words: tuple[str, ...]
    names: frozenset[str]

    @cached_property
    def text(self) -> str:
        return " ".join(self.words)


def split_speaker(text: str) -> tuple[str, str]:
    """Split ``Mira: “I live in Paris.”`` into the speaker and the speech. Without a speaker, the first is empty."""
    match = _SPEAKER.match(text)
    return (match["name"], match["speech"].strip("“”\"' ")) if match else ("", text)


@keep_results
def clauses(text: str) -> tuple[Clause, ...]:
    """Return the statement's clauses in order."""
    speaker, speech = split_speaker(text)
    for pattern, replacement in _REPLACEMENTS:
        speech = pattern.sub(replacement, speech)
    result: list[Clause] = []
    speaker_name, subject = name_key(speaker), ""  # no subject: "she", said by Mira, is not Mira
    for part in filter(None, map(str.strip, _CLAUSE_BREAK.split(speech))):
        clause = _parse_clause(part, speaker_name or USER, subject, is_first=not result)
        subject = next((word for word in clause.words if word in clause.names - CALENDAR), subject)
        result.append(clause)
    return tuple(result)


def _parse_clause(part: str, speaker: str, subject: str, *, is_first: bool) -> Clause:
    words: list[str] = []
    names: set[str] = set()
    tokens = WORD.findall(part.replace("’", "'"))
    for position, original in enumerate(tokens):
        lowered = MAY if original == "May" and position else original.lower()
        word = _resolve_pronoun(lowered, tokens[position + 1 : position + 2], speaker, subject)
        if is_name(original, first=is_first and position == 0) or word != lowered or word == MAY:
            names.add(word.removesuffix("'s"))
            subject = subject if word in CALENDAR else word.removesuffix("'s")
        words.append(to_digits(word))
    return Clause(multiply_factors(words), frozenset(names))


def _resolve_pronoun(word: str, following: list[str], speaker: str, subject: str) -> str:
    if word in ("i", "me", "myself", "we", "us"):
        return speaker
    if word in ("my", "my-own", "our", "ours"):
        return f"{speaker}'s"
    if word in _ANAPHORA and word != "who":
        return subject or f"{word}-unnamed"
    if word == "who" and subject:
        return subject
    if word in _POSSESSIVE_ANAPHORA and following and following[0].lower() not in _NOT_POSSESSED:
        return f"{subject or word}'s"
    return word
