"""Read the turns as sentences with who says them to whom, and resolve their subjects and pronouns. Pure."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apps.builtin.people import People, is_narrator, people_of
from apps.builtin.selection import attributed
from apps.builtin.sentences import Sentence, sentences_of

LEAST_WORDS = 2
BEFORE = 90  # characters in which the subject of a verb is looked for
_NAME = r"[^\W\d_a-zß-öø-ÿ][\w'’-]*(?:\s+[^\W\d_a-zß-öø-ÿ][\w'’-]*){0,3}"
# What may stand between a subject and its verb without changing whether it is so; "nearly" does.
_BETWEEN = (
    r"(?:(?:['’](?:m|ve|s|re|d))?(?:\s+(?:now|just|still|also|then|already|soon|both|again|has|have|had|is|am|are|was|"
    r"were|been|(?!(?:near|hard|bare|scarce|suppos|alleged|possib|probab|usual|rare|on)\w*ly)\w+ly))*)"
)
_SUBJECT = re.compile(
    rf"(?:^|[\s,;:—–(\"“])(?P<who>(?:I|[Ww]e|[Yy]ou|[Hh]e|[Ss]he|{_NAME}(?:\s+and\s+{_NAME})?)){_BETWEEN}\s*$"
)
_COORDINATED = re.compile(r"(?:,|\band|\bthen|,\s*then)\s*(?:\w+ly\s+)?$")
_HEAD = re.compile(rf"^(?:(?:And|But|So|Then|Now|\w+ly)\b,?\s+)?(?P<who>I|We|You|He|She|{_NAME})\b")
_UNCERTAIN = re.compile(
    r"\b(?:if|unless|whether|wish(?:es|ed)?|hop(?:es|ed)|imagin\w+|supposed?|pretend\w*|though|maybe|perhaps|"
    r"dream\w*|would|could|might|should|until|nobody|no one)\b[^,;.]*$",
    re.IGNORECASE,
)
_NOMINATIVES = {
    **dict.fromkeys(("i", "me", "my", "myself"), "i"),
    **dict.fromkeys(("you", "your", "yourself"), "you"),
    **dict.fromkeys(("we", "us", "our"), "we"),
    **dict.fromkeys(("he", "him", "his", "himself"), "he"),
    **dict.fromkeys(("she", "her", "herself"), "she"),
}


@dataclass(frozen=True)
class Statement:
    """``author`` wrote the turn; ``sentence.speaker`` says it, to ``hearer`` where that is certain. ``named`` are the
    people whom the sentence names, ``recent`` those whom the last sentence before it named that named any."""

    sentence: Sentence
    author: str
    hearer: str
    named: tuple[str, ...]
    recent: tuple[str, ...]
    people: People

    @property
    def text(self) -> str:
        return self.sentence.text

    @property
    def narrated(self) -> bool:
        return not self.sentence.spoken

    @property
    def quoted(self) -> str:
        """The sentence as it is remembered, with who says it."""
        return attributed(self.sentence, self.named)

    @property
    def asks(self) -> bool:
        return self.text.rstrip("\"'”’*) ").endswith(("?", "？", "؟"))


def statements_of(material: Mapping[str, Any]) -> list[Statement]:
    """Return the sentences of the material's turns, in order."""
    read = [
        (turn["speaker"], list(sentences_of(turn["number"], turn["speaker"], turn["text"], least=LEAST_WORDS)))
        for turn in material.get("turns", ())
    ]
    everybody = people_of(material, [sentence for _, sentences in read for sentence in sentences])
    named = [[tuple(everybody.people_in(sentence.text)) for sentence in sentences] for _, sentences in read]
    for (_, sentences), people in zip(read, named, strict=True):
        for sentence, who in zip(sentences, people, strict=True):
            everybody.observe(sentence.text, who)
    return [
        statement
        for (author, sentences), people in zip(read, named, strict=True)
        for statement in _of_turn(author, sentences, people, everybody)
    ]


def _of_turn(
    author: str, sentences: Sequence[Sentence], named: Sequence[tuple[str, ...]], people: People
) -> Iterator[Statement]:
    recent: dict[bool, tuple[str, ...]] = {True: (), False: ()}
    prose = _is_prose(author, sentences)
    for sentence, names in zip(sentences, named, strict=True):
        spoken = sentence.spoken and not prose
        hearer = people.other(author) if sentence.speaker == author or not spoken else ""
        yield Statement(replace(sentence, spoken=spoken), author, hearer, names, recent[spoken], people)
        if names:
            recent[spoken] = names


def _is_prose(author: str, sentences: Sequence[Sentence]) -> bool:
    """Return whether a turn that marks neither speech nor action tells a story: it speaks of its author by name."""
    if not all(sentence.spoken and sentence.speaker == author for sentence in sentences):
        return False
    own = re.compile(rf"{re.escape(author.split()[0])}(?:['’]s)? \w") if author.split() else None
    return is_narrator(author) or bool(own and any(own.match(sentence.text) for sentence in sentences))


def subjects(statement: Statement, end: int) -> tuple[str, ...]:
    """Return who does what the verb at ``end`` of the sentence says, where it is told as so; else nobody."""
    before = statement.text[:end]
    match = _SUBJECT.search(before, max(end - BEFORE, 0))
    if match is None and _COORDINATED.search(before):
        match = _HEAD.match(before)
    if match is None or _UNCERTAIN.search(before[: match.end("who")]):
        return ()
    words = re.split(r"\s+and\s+", match["who"])
    return tuple(
        dict.fromkeys(person for word in words for person in person_meant(word, statement, match.start("who")))
    )


def person_meant(word: str, statement: Statement, position: int) -> tuple[str, ...]:
    """Return whom a pronoun, a possessive or a name at ``position`` of the sentence stands for."""
    bare = re.sub(r"['’]s?$", "", word)
    key = _NOMINATIVES.get(bare.casefold())
    speaker = "" if is_narrator(statement.sentence.speaker) else statement.people.person(statement.sentence.speaker)
    if key == "we":
        return (speaker, statement.hearer) if speaker and statement.hearer else ()
    if key:
        found = {"i": speaker, "you": statement.hearer}.get(key)
        found = _antecedent(key, statement, position) if found is None else found
    else:
        words = bare.split()
        while words and not statement.people.person(" ".join(words)):
            words = words[1:]  # "Then Mira"
        found = statement.people.person(" ".join(words))
    return (found,) if found else ()


def _antecedent(pronoun: str, statement: Statement, position: int) -> str:
    """Return the one person named before, in the sentence or else in the last that named any; in narration that names
    nobody, who tells it."""
    people = statement.people
    earlier = people.people_in(statement.text[:position]) or statement.recent
    if earlier:
        fitting = [person for person in earlier if people.fits(pronoun, person)]
        return fitting[0] if len(fitting) == 1 else ""
    author = people.person(statement.author) if statement.narrated and not is_narrator(statement.author) else ""
    return "" if people.fits(pronoun, author) is False else author
