"""Split turns into sentences with speaker and addressee, and resolve subjects and pronouns. Without database access."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apps.builtin.reading.people import People, is_narrator, people_of
from apps.builtin.reading.sentences import Sentence, sentences_of
from apps.builtin.reading.tokens import is_question
from apps.memories.quotations import quotation

MIN_WORDS = 2
BRIEF_WORDS = 3  # a sentence of so many words says little by itself
SUBJECT_WINDOW = 90  # characters before a verb in which its subject is searched
_NAME = r"[^\W\d_a-zß-öø-ÿ][\w'’-]*(?:\s+[^\W\d_a-zß-öø-ÿ][\w'’-]*){0,3}"
# Words allowed between a subject and its verb. Adverbs such as "nearly" are not: they deny the verb.
_VERB_MODIFIERS = (
    r"(?:(?:['’](?:m|ve|s|re|d))?(?:\s+(?:now|just|still|also|then|already|soon|both|again|has|have|had|is|am|are|was|"
    r"were|been|(?!(?:near|hard|bare|scarce|suppos|alleged|possib|probab|usual|rare|on)\w*ly)\w+ly))*)"
)
_SUBJECT = re.compile(
    rf"(?:^|[\s,;:—–(\"“])(?P<who>(?:I|[Ww]e|[Yy]ou|[Hh]e|[Ss]he|{_NAME}(?:\s+and\s+{_NAME})?)){_VERB_MODIFIERS}\s*$"
)
_CONJUNCTION = re.compile(r"(?:,|\band|\bthen|,\s*then)\s*(?:\w+ly\s+)?$")
_SENTENCE_SUBJECT = re.compile(rf"^(?:(?:And|But|So|Then|Now|\w+ly)\b,?\s+)?(?P<who>I|We|You|He|She|{_NAME})\b")
_UNCERTAIN = re.compile(
    r"\b(?:if|unless|whether|wish(?:es|ed)?|hop(?:es|ed)|imagin\w+|supposed?|pretend\w*|though|maybe|perhaps|"
    r"dream\w*|would|could|might|should|until|nobody|no one)\b[^,;.]*$",
    re.IGNORECASE,
)
# Narration with an unnamed person: a leading pronoun, or the writer.
_UNNAMED = re.compile(r"(?:he|she|they|it|his|her|their|its)\b|.*\b(?:I|me|my|we|us|our)\b", re.IGNORECASE)
_PRONOUNS = ("i me my myself", "you your yourself", "we us our", "he him his himself", "she her herself")
_NOMINATIVES = {form: forms.split()[0] for forms in _PRONOUNS for form in forms.split()}


@dataclass(frozen=True)
class Statement:
    """Sentence of a turn by ``author`` with the people it involves.

    ``addressee`` is the listener, empty if uncertain. ``named`` are the people in the sentence, ``recent`` those in the
    last earlier sentence of the turn with any. Speech and narration count separately for ``recent``.
    """

    sentence: Sentence
    author: str
    addressee: str
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
        """Return the sentence with its speaker, as memories store it."""
        return with_speaker(self.sentence, self.named)

    @property
    def is_brief(self) -> bool:
        return len(self.sentence.words) <= BRIEF_WORDS

    @property
    def is_question(self) -> bool:
        return is_question(self.text)


def with_speaker(sentence: Sentence, names: Sequence[str]) -> str:
    """Return a sentence with its speaker, unless it is narration that names its subject."""
    if not sentence.speaker or (not sentence.spoken and names and not _UNNAMED.match(sentence.text)):
        return sentence.text
    return quotation(sentence.speaker, sentence.text) if sentence.spoken else f"{sentence.speaker}: {sentence.text}"


def statements_of(material: Mapping[str, Any]) -> list[Statement]:
    """Return the sentences of the material's turns, in order."""
    turns = [
        (turn["speaker"], list(sentences_of(turn["number"], turn["speaker"], turn["text"], min_words=MIN_WORDS)))
        for turn in material.get("turns", ())
    ]
    all_people = people_of(material, [sentence for _, sentences in turns for sentence in sentences])
    named = [[tuple(all_people.people_in(sentence.text)) for sentence in sentences] for _, sentences in turns]
    for (_, sentences), people in zip(turns, named, strict=True):
        for sentence, names in zip(sentences, people, strict=True):
            all_people.count_pronouns(sentence.text, names)
    return [
        statement
        for (author, sentences), people in zip(turns, named, strict=True)
        for statement in _turn_statements(author, sentences, people, all_people)
    ]


def _turn_statements(
    author: str, sentences: Sequence[Sentence], named: Sequence[tuple[str, ...]], people: People
) -> Iterator[Statement]:
    recent: dict[bool, tuple[str, ...]] = {True: (), False: ()}
    is_narration = _is_narration(author, sentences)
    for sentence, names in zip(sentences, named, strict=True):
        spoken = sentence.spoken and not is_narration
        addressee = people.addressee_of(author) if sentence.speaker == author or not spoken else ""
        yield Statement(replace(sentence, spoken=spoken), author, addressee, names, recent[spoken], people)
        if names:
            recent[spoken] = names


def _is_narration(author: str, sentences: Sequence[Sentence]) -> bool:
    """Return whether a turn without quotes and actions is narration: by a narrator, or about its author by name."""
    if not all(sentence.spoken and sentence.speaker == author for sentence in sentences):
        return False
    author_acts = re.compile(rf"{re.escape(author.split()[0])}(?:['’]s)? \w") if author.split() else None
    return is_narrator(author) or bool(author_acts and any(author_acts.match(sentence.text) for sentence in sentences))


def subjects(statement: Statement, end: int) -> tuple[str, ...]:
    """Return the people who are the subject of the verb at ``end``; none if unclear, denied or hypothetical."""
    before = statement.text[:end]
    match = _SUBJECT.search(before, max(end - SUBJECT_WINDOW, 0))
    if match is None and _CONJUNCTION.search(before):
        match = _SENTENCE_SUBJECT.match(before)
    if match is None or _UNCERTAIN.search(before[: match.end("who")]):
        return ()
    words = re.split(r"\s+and\s+", match["who"])
    return tuple(
        dict.fromkeys(person for word in words for person in resolve_person(word, statement, match.start("who")))
    )


def resolve_person(word: str, statement: Statement, position: int) -> tuple[str, ...]:
    """Return the people that a pronoun, a possessive or a name at ``position`` refers to; none if uncertain."""
    bare = re.sub(r"['’]s?$", "", word)
    key = _NOMINATIVES.get(bare.casefold())
    speaker = "" if is_narrator(statement.sentence.speaker) else statement.people.full_name(statement.sentence.speaker)
    if key == "we":
        return (speaker, statement.addressee) if speaker and statement.addressee else ()
    if key:
        person = {"i": speaker, "you": statement.addressee}.get(key)
        person = _antecedent(key, statement, position) if person is None else person
    else:
        words = bare.split()
        while words and not statement.people.full_name(" ".join(words)):
            words = words[1:]  # drop the first word of "Then Mira"
        person = statement.people.full_name(" ".join(words))
    return (person,) if person else ()


def _antecedent(pronoun: str, statement: Statement, position: int) -> str:
    """Return the only person that fits a pronoun; empty if none or several do.

    Candidates are the people named earlier in the sentence, else the recent ones, else the author of narration.
    """
    people = statement.people
    earlier = people.people_in(statement.text[:position]) or statement.recent
    if earlier:
        fitting = [person for person in earlier if people.matches_pronoun(pronoun, person)]
        return fitting[0] if len(fitting) == 1 else ""
    author = people.full_name(statement.author) if statement.narrated and not is_narrator(statement.author) else ""
    return "" if people.matches_pronoun(pronoun, author) is False else author
