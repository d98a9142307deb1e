"""Answer the tasks ``long_term`` and ``session``: select the sentences that are worth remembering."""

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from apps.builtin.names import certain_names, is_only_addressed, known_names, names_in, typed_entity
from apps.builtin.salience import DESCRIPTIVE, LONG_TERM, SESSION, classify, importance, salience
from apps.builtin.self_descriptions import describes_oneself
from apps.builtin.sentences import (
    MAX_WORDS,
    MIN_WORDS,
    Sentence,
    instructions_of,
    sentences_of,
    wanted_sentences,
)
from apps.english.imagined import is_imagined
from apps.english.requests import asked_to_remember
from apps.english.retelling import retells, takes_back
from apps.english.words import content_words
from apps.extraction.parsers.memories import Candidate, format_memory
from apps.llm.generation import GenerationRequest
from apps.memories.quotations import quotation, quoted_speaker

MIN_SHORT_WORDS = 2  # words of a sentence in which somebody describes themselves; others have more
MIN_SALIENCE = 0.6  # minimum salience of a sentence, which ignores its context
MIN_SALIENCE_IN_STORY = 2.0  # the same in a story, where every turn is informative
STORY_SHARE = 0.25  # share of narrated turns from which a chat is a story
MIN_SCORE = 2.3  # minimum score of a sentence in its context
REQUESTED = 10.0  # added to the score of what somebody asks to be remembered, which comes first of all
MIN_REQUESTED_SALIENCE = 2.6  # makes it important
WORDS_PER_MEMORY = 60  # a turn may give another memory per this many words
MAX_NEW_WORDS = 15  # maximum number of a turn's new words that count
EXPIRATION = {LONG_TERM: "permanent", SESSION: "session"}
FALLBACK_KINDS = {LONG_TERM: "fact", SESSION: "detail"}  # used once a kind is full
_PRONOUN = re.compile(r"(?:he|she|they|it|his|her|their|its)\b", re.IGNORECASE)
# Narration with an unnamed person: a leading pronoun, or the writer.
_UNNAMED = re.compile(r"(?:he|she|they|it|his|her|their|its)\b|.*\b(?:I|me|my|we|us|our)\b", re.IGNORECASE)
_REFERS_BACK = re.compile(r"^(?:it|that|those|these|he|she|they)\b|\b(?:they|them|the cause)\b", re.IGNORECASE)
_SMALL_TALK = re.compile(r"\b(?:you|your|hey|hi|hello)\b", re.IGNORECASE)
_LISTED = re.compile(r"\s*[-*•]\s+(.*)")
_CLOSING = "\"'”’*)] "


@dataclass(frozen=True)
class _ScoredSentence:
    """Sentence with its salience, which sets its importance, and its score in context, which ranks it."""

    score: float
    salience: float
    sentence: Sentence
    names: list[str]
    takes_no_place: bool = False  # of another sentence: it is a request, or reads like an instruction


def long_term(request: GenerationRequest) -> str:
    """Return lines for the sentences on lasting facts about people."""
    return _select(request.material, LONG_TERM)


def session(request: GenerationRequest) -> str:
    """Return lines for the sentences on current events of the chat."""
    return _select(request.material, SESSION)


def _select(material: Mapping[str, Any], tier: str) -> str:
    """Return the lines of a tier's best sentences in the order of the chat, at most ``per_kind`` of each kind if given.

    A run gives none: reading costs nothing here, and what didn't fit would be lost for good.
    """
    turns, participants = material["turns"], material["participants"]
    per_kind = material.get("per_kind") or math.inf
    kinds: Counter[str] = Counter()
    chosen: list[Candidate] = []
    for item in sorted(_best_sentences(turns, participants), key=lambda item: -item.score):
        sentence_tier, kind = classify(item.sentence)
        if kinds[kind] >= per_kind:
            kind = FALLBACK_KINDS[tier]
        if sentence_tier == tier and kinds[kind] < per_kind:
            kinds[kind] += 1
            chosen.append(_candidate(item, kind, participants, EXPIRATION[tier]))
    return "\n".join(format_memory(item) for item in sorted(chosen, key=lambda item: item.sources)) or "NONE"


def _best_sentences(turns: Sequence[Mapping[str, Any]], participants: Iterable[str]) -> Iterator[_ScoredSentence]:
    """Yield the best sentence of each turn, several if it is long, and the best one by each other speaker in it.

    What somebody says in so many words about people is kept in any case, however much of it a turn has.
    """
    known = known_names((turn["text"] for turn in turns), participants)
    turn_sentences = [_telling_sentences(turn) for turn in turns]
    narrated = sum(any(not sentence.spoken for sentence in sentences) for sentences in turn_sentences)
    min_salience = MIN_SALIENCE_IN_STORY if narrated > STORY_SHARE * len(turns) else MIN_SALIENCE
    for turn, sentences, context_score in zip(turns, turn_sentences, _context_scores(turns), strict=True):
        items = [
            *_score_sentences(turn["speaker"], sentences, context_score, known),
            *_score_instructions(turn, sentences, context_score, known),
        ]
        scored = sorted((item for item in items if item.salience >= min_salience), key=lambda item: -item.score)
        yield from (item for item in scored if item.takes_no_place)
        scored = [item for item in scored if not item.takes_no_place]
        quota = Counter({item.sentence.speaker: 1 for item in scored})
        quota[turn["speaker"]] += sum(len(item.sentence.words) for item in scored) // WORDS_PER_MEMORY
        chosen = ""
        for item in scored:
            is_kept = quota[item.sentence.speaker] > 0 or (item.sentence.spoken and item.salience >= DESCRIPTIVE)
            if is_kept and not any(text in chosen for text in item.sentence.text.split(". ")):
                quota[item.sentence.speaker] -= 1
                chosen += f" {item.sentence.text}"
                yield item


def _telling_sentences(turn: Mapping[str, Any]) -> list[Sentence]:
    """Return the sentences of a turn without requests to forget, what is only imagined, and what a character retells.

    The user's own words say that already, and a person may have corrected what was remembered of them. What the user
    asks to remember stands without the asking.
    """
    number, speaker = turn["number"], turn["speaker"]
    text = turn["text"] if turn.get("is_user") else _without_recalled(turn["text"])
    wanted = list(wanted_sentences(number, speaker, text)) if turn.get("is_user") else []
    said = [
        sentence
        for sentence in sentences_of(number, speaker, text, min_words=MIN_SHORT_WORDS)
        if (len(sentence.words) >= MIN_WORDS or (sentence.spoken and describes_oneself(sentence.text)))
        and not (turn.get("is_user") and asked_to_remember(sentence.text))
        and not takes_back(sentence.text)
        and (turn.get("is_user") or not retells(sentence.text))
    ]
    return [sentence for sentence in [*wanted, *said] if not is_imagined(sentence.text)]


def _without_recalled(message: str) -> str:
    """Return a message without the quotations of a list, such as a prompt has and a character may repeat."""
    lines = [(line, _LISTED.fullmatch(line)) for line in message.splitlines()]
    return "\n".join(line for line, listed in lines if not listed or not quoted_speaker(listed[1]))


def _context_scores(turns: Sequence[Mapping[str, Any]]) -> Iterator[float]:
    """Yield the score that the context adds to each turn's sentences: answers and new words gain, questions lose."""
    seen: set[str] = set()
    previous: Mapping[str, Any] = {"speaker": "", "text": ""}
    for turn in turns:
        words = content_words(turn["text"])
        answers = previous["speaker"] != turn["speaker"] and _ends_with_question(previous["text"])
        yield 0.8 * answers - 0.4 * _ends_with_question(turn["text"]) + 0.16 * min(len(words - seen), MAX_NEW_WORDS)
        seen |= words
        previous = turn


def _ends_with_question(text: str) -> bool:
    return text.rstrip().rstrip(_CLOSING).endswith(("?", "？", "؟"))


def _score_sentences(
    author: str, sentences: Sequence[Sentence], context_score: float, known: set[str]
) -> Iterator[_ScoredSentence]:
    """Yield the spoken sentences with a certain speaker and the narrated ones with a certain subject."""
    others: list[str] = []
    for previous, sentence in zip([None, *sentences], sentences, strict=False):
        names = names_in(sentence.text, known)
        if sentence.spoken:
            about = [name for name in names if not is_only_addressed(name, sentence.text)]
            certain = bool(sentence.speaker)
        else:
            about = names
            certain = not (others and _PRONOUN.match(sentence.text))  # a pronoun may mean one of the others
            others += [name for name in names if not set(name.split()) & set(author.split())]
        if sentence.wanted:
            yield _wanted(sentence, sentence.text, context_score, known)
            continue
        value = salience(sentence, about)
        describes = sentence.spoken and describes_oneself(sentence.text)
        if certain and (value + context_score >= MIN_SCORE or describes):
            joined = _with_antecedent(sentence, previous) if not names else sentence
            yield _ScoredSentence(value + context_score, value, joined, names_in(joined.text, known))


def _score_instructions(
    turn: Mapping[str, Any], sentences: Sequence[Sentence], context_score: float, known: set[str]
) -> Iterator[_ScoredSentence]:
    """Yield what reads like an instruction to a model and is worth remembering as something that was said."""
    wanted = {sentence.text for sentence in sentences if sentence.wanted}
    for sentence in instructions_of(turn["number"], turn["speaker"], turn["text"]):
        said = asked_to_remember(sentence.text) if turn.get("is_user") else ""
        names = names_in(sentence.text, known)
        value = salience(sentence, names)
        if said and said not in wanted:
            yield _wanted(sentence, said, context_score, known)
        elif not said and sentence.speaker and value + context_score >= MIN_SCORE:
            yield _ScoredSentence(value + context_score, value, sentence, names, takes_no_place=True)


def _wanted(sentence: Sentence, said: str, context_score: float, known: set[str]) -> _ScoredSentence:
    """Return a sentence that asks to remember what is ``said``, before all others."""
    names = names_in(said, known)
    value = max(salience(replace(sentence, text=said), names), MIN_REQUESTED_SALIENCE)
    return _ScoredSentence(REQUESTED + value + context_score, value, sentence, names, takes_no_place=True)


def _with_antecedent(sentence: Sentence, previous: Sentence | None) -> Sentence:
    """Return a spoken sentence together with the one before by the same speaker, if it refers back to it."""
    if not previous or previous.wanted or not (sentence.spoken and previous.spoken):
        return sentence
    if previous.speaker != sentence.speaker:
        return sentence
    joined = replace(sentence, text=f"{previous.text} {sentence.text}")
    fits = len(joined.words) <= MAX_WORDS and previous.text.endswith(".") and not _SMALL_TALK.search(previous.text)
    return joined if fits and _REFERS_BACK.search(sentence.text) else sentence


def _candidate(item: _ScoredSentence, kind: str, participants: Iterable[str], expiration: str) -> Candidate:
    sentence, names = item.sentence, item.names
    entities = dict.fromkeys(filter(None, [sentence.speaker, *certain_names(names, sentence.text, participants)]))
    return Candidate(
        kind=kind,
        text=with_speaker(sentence, names),
        importance=importance(item.salience),
        expiration=expiration,
        sources=(sentence.turn,),
        entities=tuple(typed_entity(name, sentence.text, participants) for name in entities),
    )


def with_speaker(sentence: Sentence, names: Sequence[str]) -> str:
    """Return a sentence with its speaker, unless it is narration that names its subject."""
    if not sentence.speaker or (not sentence.spoken and names and not _UNNAMED.match(sentence.text)):
        return sentence.text
    return quotation(sentence.speaker, sentence.text) if sentence.spoken else f"{sentence.speaker}: {sentence.text}"
