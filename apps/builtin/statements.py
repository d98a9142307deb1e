"""The sentences of the turns with who says them, whom they speak to, and whom their pronouns stand for. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apps.builtin.cast import Cast, cast_of, is_narrator
from apps.builtin.picking import attributed
from apps.builtin.sentences import Sentence, sentences_of

LEAST_WORDS = 2
_NAME = r"[^\W\d_a-zß-öø-ÿ][\w'’-]*(?:\s+[^\W\d_a-zß-öø-ÿ][\w'’-]*){0,3}"
# What may stand between a subject and its verb without changing whether it is so.
_BETWEEN = (
    r"(?:(?:['’](?:m|ve|s|re|d))?(?:\s+(?:now|just|still|also|then|finally|already|soon|both|again|once more|has|have|"
    r"had|is|am|are|was|were|been|really|truly|(?!(?:near|hard|bare|scarce|suppos|alleged|possib|probab|usual|rare|"
    r"on)\w*ly)\w+ly))*)"
)
_SUBJECT = re.compile(
    rf"(?:^|[\s,;:—–(\"“])(?P<who>(?:I|[Ww]e|[Yy]ou|[Hh]e|[Ss]he|{_NAME}(?:\s+and\s+{_NAME})?)){_BETWEEN}\s*$"
)
_COORDINATED = re.compile(r"(?:,|\band|\bthen|,\s*then)\s*(?:\w+ly\s+)?$")
_HEAD = re.compile(rf"^(?:(?:And|But|So|Then|Now|Slowly|Finally|Suddenly)\b,?\s+)?(?P<who>I|We|You|He|She|{_NAME})\b")
_UNCERTAIN = re.compile(
    r"\b(?:if|unless|whether|wish(?:es|ed)?|hop(?:e|es|ed)|imagin\w+|supposed?|pretend\w*|though|maybe|perhaps|"
    r"dream\w*|would|could|might|should|until|nobody|no one)\b[^,;.]*$",
    re.IGNORECASE,
)
_POSSESSIVES = {"my": "I", "our": "we", "your": "you", "his": "he", "her": "she"}
_NOMINATIVES = {"him": "he", "himself": "he", "her": "she", "herself": "she"}


@dataclass(frozen=True)
class Statement:
    """``author`` wrote the turn; ``sentence.speaker`` says it, to ``hearer`` where that is certain. ``named`` are the
    people whom the sentence names, ``recent`` those whom the last sentence before it named that named any."""

    sentence: Sentence
    author: str
    hearer: str
    named: tuple[str, ...]
    recent: tuple[str, ...]
    cast: Cast

    @property
    def text(self) -> str:
        return self.sentence.text

    @property
    def narrated(self) -> bool:
        return not self.sentence.spoken

    @property
    def quoted(self) -> str:
        """The sentence as it is remembered, with who says it."""
        return attributed(self.sentence, list(self.named))

    @property
    def asks(self) -> bool:
        return self.text.rstrip("\"'”’*) ").endswith(("?", "？", "؟"))


def statements_of(material: Mapping[str, Any]) -> list[Statement]:
    """The sentences of the material's turns, in order."""
    read = [
        (turn, list(sentences_of(turn["number"], turn["speaker"], turn["text"], least=LEAST_WORDS)))
        for turn in material.get("turns", ())
    ]
    cast = cast_of(material, [sentence for _, sentences in read for sentence in sentences])
    named = [[tuple(cast.people_in(sentence.text)) for sentence in sentences] for _, sentences in read]
    for (_, sentences), people in zip(read, named, strict=True):
        for sentence, who in zip(sentences, people, strict=True):
            cast.observe(sentence.text, who)
    return [
        statement
        for (turn, sentences), people in zip(read, named, strict=True)
        for statement in _of_turn(turn["speaker"], sentences, people, cast)
    ]


def _of_turn(
    author: str, sentences: Sequence[Sentence], people: Sequence[tuple[str, ...]], cast: Cast
) -> Iterator[Statement]:
    recent: dict[bool, tuple[str, ...]] = {True: (), False: ()}
    prose = _is_prose(author, sentences)
    for sentence, named in zip(sentences, people, strict=True):
        spoken = sentence.spoken and not prose
        own = sentence.speaker == author
        hearer = cast.other(author) if own or not spoken else ""
        yield Statement(replace(sentence, spoken=spoken), author, hearer, named, recent[spoken], cast)
        if named:
            recent[spoken] = named


def _is_prose(author: str, sentences: Sequence[Sentence]) -> bool:
    """Whether a turn that marks neither speech nor action tells a story: its author is spoken of by name in it."""
    if not all(sentence.spoken and sentence.speaker == author for sentence in sentences):
        return False
    own = re.compile(rf"{re.escape(author.split()[0])}(?:['’]s)? \w") if author.split() else None
    return is_narrator(author) or bool(own and any(own.match(sentence.text) for sentence in sentences))


def subjects(statement: Statement, end: int) -> tuple[str, ...]:
    """Who does what the verb at ``end`` of the sentence says, where it says that it is so; else nobody."""
    before = statement.text[:end]
    match = _SUBJECT.search(before[-90:])
    if match:
        start = len(before) - len(before[-90:]) + match.start("who")
    else:
        match = _HEAD.match(before) if _COORDINATED.search(before) else None
        start = match.start("who") if match else 0
    if match is None or _UNCERTAIN.search(before[:start]):
        return ()
    found = (person_meant(word, statement, start) for word in re.split(r"\s+and\s+", match["who"]))
    people = [person for who in found for person in who]
    return tuple(dict.fromkeys(people))


def person_meant(word: str, statement: Statement, position: int) -> tuple[str, ...]:
    """Whom a pronoun, a possessive or a name at ``position`` of the sentence stands for."""
    bare = re.sub(r"['’]s?$", "", word)
    key = _POSSESSIVES.get(bare.casefold(), bare).casefold()
    speaker = "" if is_narrator(statement.sentence.speaker) else statement.cast.person(statement.sentence.speaker)
    if key in ("i", "me", "myself"):
        return _some(speaker)
    if key in ("you", "yourself"):
        return _some(statement.hearer)
    if key in ("we", "us"):
        return _some(speaker) + _some(statement.hearer) if speaker and statement.hearer else ()
    if key in ("he", "she", "him", "her", "himself", "herself"):
        return _some(_antecedent(_NOMINATIVES.get(key, key), statement, position))
    words = bare.split()
    while words and not (whole := statement.cast.person(" ".join(words))):
        words = words[1:]  # "Then Mira"
    return _some(whole) if words else ()


def _some(name: str) -> tuple[str, ...]:
    return (name,) if name else ()


def _antecedent(pronoun: str, statement: Statement, position: int) -> str:
    """The one person named before, in the sentence or else in the last that named any; in narration that names
    nobody, who tells it."""
    earlier = tuple(statement.cast.people_in(statement.text[:position]))
    fitting = [person for person in earlier or statement.recent if statement.cast.fits(pronoun, person)]
    if earlier or statement.recent:
        return fitting[0] if len(fitting) == 1 else ""
    author = statement.cast.person(statement.author) if statement.narrated and not is_narrator(statement.author) else ""
    return "" if statement.cast.fits(pronoun, author) is False else author
