"""The tasks ``long_term`` and ``session``, as the built-in backend does them."""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from re import Pattern
from typing import Any

from apps.builtin.context import Context, contexts
from apps.builtin.names import addressed, entity, known_names, names_in, surely_names
from apps.builtin.salience import (
    LONG_TERM_KINDS,
    SESSION_KINDS,
    bearing,
    importance,
    kind_of,
    salience,
    tells_of_a_change,
)
from apps.builtin.sentences import Sentence, sentences_of
from apps.extraction.parsers.memories import Candidate, print_memory
from apps.llm.generation import GenerationRequest

LEAST_SALIENCE = 0.5  # of a sentence by itself
LEAST_SCORE = 2.2  # of a sentence in its turn
WORDS_A_MEMORY = 60  # a turn of more words may give one more
_PRONOUN = re.compile(r"(?:i|we|he|she|they|it|my|our|his|her|their|its)\b", re.IGNORECASE)


def long_term(request: GenerationRequest) -> str:
    """What stays true of people beyond this chat."""
    return _pick(request.material, LONG_TERM_KINDS, "fact", "permanent")


def session(request: GenerationRequest) -> str:
    """What happens in this chat."""
    return _pick(request.material, SESSION_KINDS, "detail", "session")


@dataclass(frozen=True)
class _Scored:
    """A sentence with its worth in its turn, which ranks it, and by itself, which makes it important."""

    score: float
    own: float
    sentence: Sentence
    names: list[str]


def _pick(material: Mapping[str, Any], kinds: Mapping[str, Pattern[str]], otherwise: str, expiration: str) -> str:
    """The best sentences of each kind, as lines in the order of the chat: ``material["per_kind"]`` at most, and as many
    again of those that tell of a change, since what they end would go on being remembered."""
    turns, participants = material["turns"], material["participants"]
    chosen: dict[str, list[Candidate]] = {}
    for item in sorted(_offered(turns, participants), key=lambda item: -item.score):
        kind = kind_of(item.sentence, kinds, otherwise)
        taken = chosen.setdefault(kind, [])
        if len(taken) < material["per_kind"] * (1 + tells_of_a_change(item.sentence.text)):
            taken.append(_candidate(item, kind, participants, expiration))
    picked = [candidate for taken in chosen.values() for candidate in taken]
    return "\n".join(print_memory(item) for item in sorted(picked, key=lambda item: item.sources)) or "NONE"


def _offered(turns: Sequence[Mapping[str, Any]], participants: Iterable[str]) -> Iterator[_Scored]:
    """What each turn has to offer: the best of its sentences, of a long turn more, and all that tell of a change. Of
    those whom a turn lets speak, each has a say."""
    known = known_names((turn["text"] for turn in turns), participants)
    for turn, context in zip(turns, contexts(turns), strict=True):
        scored = sorted(_scored(turn, context, known), key=lambda item: -item.score)
        room = Counter(dict.fromkeys({item.sentence.speaker for item in scored}, 1))
        room[turn["speaker"]] += sum(len(item.sentence.words) for item in scored) // WORDS_A_MEMORY
        for item in scored:
            if room[item.sentence.speaker] > 0 or tells_of_a_change(item.sentence.text):
                room[item.sentence.speaker] -= 1
                yield item


def _scored(turn: Mapping[str, Any], context: Context, known: set[str]) -> Iterator[_Scored]:
    for sentence in sentences_of(turn["number"], turn["speaker"], turn["text"]):
        names = names_in(sentence.text, known)
        told = [name for name in names if not (sentence.spoken and addressed(name, sentence.text))]
        own = salience(sentence, told)
        score = own + bearing(context)
        if own >= LEAST_SALIENCE and score >= LEAST_SCORE:
            yield _Scored(score, own, sentence, names)


def _candidate(item: _Scored, kind: str, participants: Iterable[str], expiration: str) -> Candidate:
    sentence, names = item.sentence, item.names
    who = dict.fromkeys(filter(None, [sentence.speaker, *surely_names(names, sentence.text, participants)]))
    return Candidate(
        kind=kind,
        text=attributed(sentence, names),
        importance=importance(item.own),
        expiration=expiration,
        sources=(sentence.turn,),
        entities=tuple(entity(name, sentence.text, participants) for name in who),
    )


def attributed(sentence: Sentence, names: list[str]) -> str:
    """The sentence with the name of who says it, unless it is narration that begins with whom it is about."""
    if not sentence.speaker or (not sentence.spoken and names and not _PRONOUN.match(sentence.text)):
        return sentence.text
    quoted = f"“{sentence.text}”" if sentence.spoken else sentence.text
    return f"{sentence.speaker}: {quoted}"


TASKS: Mapping[str, Callable[[GenerationRequest], str]] = {"long_term": long_term, "session": session}
