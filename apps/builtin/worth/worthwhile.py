"""Find the sentences of turns that are worth remembering, whole and with what they need to be understood.

A learned model (``worth``) judges sentences of any language. In English, ``salience`` and ``self_descriptions`` count
besides. What the user asks to remember comes first; what is only imagined is left out. The number is not limited.
"""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

from apps.builtin.reading.names import is_only_addressed, known_names, names_in, typed_entity
from apps.builtin.reading.sentences import MAX_WORDS, Sentence, instructions_of, sentences_of, wanted_sentences
from apps.builtin.reading.tokens import is_question
from apps.builtin.worth.model import worth_of
from apps.builtin.worth.salience import DESCRIPTIVE, WANTED, salience
from apps.builtin.worth.self_descriptions import describes_oneself
from apps.builtin.worth.wording import asks_to_remember, may_be_antecedent, refers_back, with_person
from apps.english.imagined import is_imagined
from apps.english.requests import asked_to_remember, without_handed_over
from apps.english.retelling import retells, takes_back
from apps.memories.quotations import quoted_speaker
from apps.text.detection import ENGLISH, language_of

MIN_SIZE = 2  # words of a sentence
MIN_SCORE, MIN_SCORE_IN_STORY = 0.0, 0.4  # in a story, every turn is informative
STORY_SHARE = 0.25  # share of narrated turns from which a chat is a story
ANSWER = 0.5  # added to the score of what answers a question
REQUESTED = 10.0  # added to the score of what somebody asks to be remembered, which comes first of all
GRAMMAR = 0.6  # weight of English grammar
USUAL_SALIENCE, LEAST_SALIENCE = 0.2, -0.5  # what says nothing either way, and below which nothing more is taken
DOUBT = 0.3  # taken from the score in other languages, where no grammar confirms it
VALUE, BASE_VALUE = 0.45, 0.8  # turn the score in another language into a salience
_LISTED = re.compile(r"\s*[-*•]\s+(.*)")
_PRONOUN = re.compile(r"(?:he|she|they|it|his|her|their|its)\b", re.IGNORECASE)
_WOULD = re.compile(r"\b(?:would|could|might)\b|\b(?:I|we|you|he|she|it|they)['’]d\b", re.IGNORECASE)
_NOT_LETTERS = re.compile(r"[\W_]+")
_UNSPACED_END = ("。", "！", "？", "」")


@dataclass(frozen=True)
class Worthwhile:
    """Sentences with their salience, which sets the importance, and their score, which ranks them.

    ``main`` is the one of them that decides on their kind, ``names`` are the names in all.
    """

    score: float
    salience: float
    sentence: Sentence
    main: Sentence
    names: list[str]
    language: str = ENGLISH


@dataclass(frozen=True)
class _Turn:
    """A turn as it is read. ``is_user``: the person wrote it."""

    number: int
    speaker: str
    text: str
    is_user: bool = False

    @classmethod
    def from_material(cls, item: Mapping[str, Any]) -> Self:
        return cls(item["number"], item["speaker"], item["text"], bool(item.get("is_user")))


def worthwhile_sentences(material: Sequence[Mapping[str, Any]], participants: Iterable[str]) -> Iterator[Worthwhile]:
    """Yield what is worth remembering of each turn, as the material of a task has them, however much that is."""
    turns = [_Turn.from_material(item) for item in material]
    participants = list(participants)
    known = known_names((turn.text for turn in turns), participants)
    turn_sentences = [
        [] if _is_work(turn, before) else _telling_sentences(turn)
        for before, turn in zip([None, *turns], turns, strict=False)
    ]
    narrated = sum(any(not sentence.spoken for sentence in sentences) for sentences in turn_sentences)
    minimum = MIN_SCORE_IN_STORY if narrated > STORY_SHARE * len(turns) else MIN_SCORE
    previous = _Turn(0, "", "")
    named_by: dict[str, list[str]] = {}
    seen: set[str] = set()
    for turn, sentences in zip(turns, turn_sentences, strict=True):
        answers = previous.speaker != turn.speaker and is_question(previous.text)
        reading = _Reading(turn.speaker, language_of(turn.text), known, ANSWER * answers)
        recent = named_by.get(previous.speaker) or named_by.get(turn.speaker) or []
        items = [reading.scored(one, last) for last, one in zip([None, *sentences], sentences, strict=False)]
        found = [*_together(sentences, items, minimum, known, recent)]
        found += _instructions(turn, sentences, minimum - reading.bonus, known)
        for item in found:
            said = _NOT_LETTERS.sub("", item.sentence.text).casefold()
            if said not in seen:  # else it is a repetition
                seen.add(said)
                yield item
        named_by[turn.speaker] = _people_in(turn.text, known, participants)
        previous = turn


def _is_work(turn: _Turn, before: _Turn | None) -> bool:
    """Return whether a turn is a text that the one before handed over, translated or summarised: nobody says that."""
    if before is None or before.speaker == turn.speaker or not before.is_user:
        return False
    return without_handed_over(before.text) != before.text


def _telling_sentences(turn: _Turn) -> list[Sentence]:
    """Return the sentences of a turn without requests to forget, what is only imagined, and what a character retells.

    The user's own words say that already, and a person may have corrected what was remembered of them. What the user
    asks to remember stands without the asking.
    """
    text = turn.text if turn.is_user else _without_recalled(turn.text)
    said = [
        sentence
        for sentence in sentences_of(turn.number, turn.speaker, text, min_words=MIN_SIZE)
        if not takes_back(sentence.text)
    ]
    if not turn.is_user:
        return list(_without_imagined(one for one in said if not retells(one.text)))
    wanted = wanted_sentences(turn.number, turn.speaker, text)
    said = [one for one in said if not asked_to_remember(one.text)]
    said = [replace(one, wanted=True) if asks_to_remember(one.text) else one for one in said]
    return [*(one for one in wanted if not is_imagined(one.text)), *_without_imagined(said)]


def _without_imagined(sentences: Iterable[Sentence]) -> Iterator[Sentence]:
    """Yield the sentences about what is so: after "Imagine we were rich", "We'd have a barge" isn't either."""
    imagined = False
    for sentence in sentences:
        imagined = is_imagined(sentence.text) or (imagined and bool(_WOULD.search(sentence.text)))
        if not imagined:
            yield sentence


def _without_recalled(message: str) -> str:
    """Return a message without the quotations of a list, such as a prompt has and a character may repeat."""
    lines = [(line, _LISTED.fullmatch(line)) for line in message.splitlines()]
    return "\n".join(line for line, listed in lines if not listed or not quoted_speaker(listed[1]))


@dataclass
class _Reading:
    """A turn that is read sentence by sentence. ``others``: its narration has named somebody besides its author."""

    author: str
    language: str
    known: set[str]
    bonus: float
    others: bool = False

    def scored(self, sentence: Sentence, last: Sentence | None) -> Worthwhile | None:
        """Return a spoken sentence with a certain speaker, or a narrated one with a certain subject, with its score."""
        names = names_in(sentence.text, self.known)
        if sentence.wanted:
            return _wanted(sentence, sentence.text, self.known)
        if sentence.spoken:
            about = [name for name in names if not is_only_addressed(name, sentence.text)]
            certain = bool(sentence.speaker)
        else:
            about = names
            is_unclear = self.others and _PRONOUN.match(sentence.text) and not _joined(last, sentence)
            certain = not is_unclear and not sentence.text[:1].islower()  # else it has no subject
            self.others |= any(not set(name.split()) & set(self.author.split()) for name in names)
        return self._weighed(sentence, names, about) if certain else None

    def _weighed(self, sentence: Sentence, names: list[str], about: list[str]) -> Worthwhile:
        odds = worth_of(sentence.text, spoken=sentence.spoken).odds
        if self.language != ENGLISH:
            value = BASE_VALUE + VALUE * odds
            return Worthwhile(odds + self.bonus - DOUBT, value, sentence, sentence, names, self.language)
        value = salience(sentence, about)
        score = odds + GRAMMAR * (max(value, LEAST_SALIENCE) - USUAL_SALIENCE) + self.bonus
        if sentence.spoken and describes_oneself(sentence.text):
            score = max(score, DESCRIPTIVE)
        return Worthwhile(score, value, sentence, sentence, names)


def _together(
    sentences: Sequence[Sentence],
    items: Sequence[Worthwhile | None],
    minimum: float,
    known: set[str],
    recent: Sequence[str],
) -> Iterator[Worthwhile]:
    """Yield the items whose score suffices, each that refers back together with the sentence before."""
    group: Worthwhile | None = None
    for previous, sentence, item in zip([None, *sentences], sentences, items, strict=False):
        if item is None or item.score < minimum:
            continue
        goes_on = group if group and previous and group.sentence.text.endswith(previous.text) else None
        joined = _joined(goes_on.sentence if goes_on else previous, sentence)
        if group and not (goes_on and joined):
            yield group
        if joined is None:
            joined = sentence if previous else replace(sentence, text=with_person(sentence.text, recent))
            goes_on = None
        best = goes_on if goes_on and goes_on.score > item.score else item
        group = replace(best, sentence=joined, names=names_in(joined.text, known))
    if group:
        yield group


def _joined(before: Sentence | None, sentence: Sentence) -> Sentence | None:
    """Return a sentence with the one before by the same speaker, if it refers back to it, else None."""
    if not before or before.wanted or sentence.wanted or sentence.spoken != before.spoken:
        return None
    if before.speaker != sentence.speaker or not refers_back(sentence.text) or not may_be_antecedent(before.text):
        return None
    space = "" if before.text.endswith(_UNSPACED_END) else " "
    joined = replace(sentence, text=f"{before.text}{space}{sentence.text}")
    return joined if joined.size <= MAX_WORDS else None


def _people_in(text: str, known: set[str], participants: Sequence[str]) -> list[str]:
    """Return the names in a message that may be of people who don't take part."""
    names = (name for name in names_in(text, known) if name not in participants)
    return [name for name in names if typed_entity(name, text, participants).kind == "unknown"]


def _instructions(turn: _Turn, sentences: Sequence[Sentence], minimum: float, known: set[str]) -> Iterator[Worthwhile]:
    """Yield what reads like an instruction to a model and is worth remembering as something that was said."""
    wanted = {sentence.text for sentence in sentences if sentence.wanted}
    for sentence in instructions_of(turn.number, turn.speaker, turn.text):
        said = asked_to_remember(sentence.text) if turn.is_user else ""
        names = names_in(sentence.text, known)
        value = salience(sentence, names)
        if said and said not in wanted:
            yield _wanted(sentence, said, known)
        elif not said and sentence.speaker and GRAMMAR * (value - USUAL_SALIENCE) >= minimum:
            yield Worthwhile(value, value, sentence, sentence, names)


def _wanted(sentence: Sentence, said: str, known: set[str]) -> Worthwhile:
    """Return a sentence that asks to remember what is ``said``, before all others."""
    names = names_in(said, known)
    value = max(salience(replace(sentence, text=said), names), WANTED)
    return Worthwhile(REQUESTED + value, value, sentence, sentence, names, language_of(said))
