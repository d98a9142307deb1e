"""The tasks ``long_term`` and ``session``, as the built-in backend does them."""

import re
from collections.abc import Callable, Iterable, Mapping
from re import Pattern
from typing import Any

from apps.llm.generation import GenerationRequest
from apps.memories.builtin_extraction.names import entity, known_names, names_in
from apps.memories.builtin_extraction.salience import (
    LONG_TERM_KINDS,
    SESSION_KINDS,
    importance,
    kind_of,
    salience,
    tells_of_a_change,
)
from apps.memories.builtin_extraction.sentences import Sentence, sentences_of
from apps.memories.line_format import Candidate, print_memory

LEAST_SALIENCE = 2.0
_PRONOUN = re.compile(r"(?:i|we|he|she|they|it|my|our|his|her|their|its)\b", re.IGNORECASE)


def long_term(request: GenerationRequest) -> str:
    """What stays true of people beyond this chat."""
    return _pick(request.material, LONG_TERM_KINDS, "fact", "permanent")


def session(request: GenerationRequest) -> str:
    """What happens in this chat."""
    return _pick(request.material, SESSION_KINDS, "detail", "session")


def _pick(material: Mapping[str, Any], kinds: Mapping[str, Pattern[str]], otherwise: str, expiration: str) -> str:
    """The best sentences of each kind, as lines in the order of the chat: ``material["per_kind"]`` at most, and as many
    again of those that tell of a change, since what they end would go on being remembered."""
    turns, participants = material["turns"], material["participants"]
    known = known_names((turn["text"] for turn in turns), participants)
    chosen: dict[str, list[tuple[float, Candidate]]] = {}
    for score, sentence, names in sorted(_scored(turns, known), key=lambda item: -item[0]):
        kind = kind_of(sentence, kinds, otherwise)
        taken = chosen.setdefault(kind, [])
        if len(taken) < material["per_kind"] * (1 + tells_of_a_change(sentence.text)):
            taken.append((score, _candidate(sentence, kind, names, participants, score, expiration)))
    picked = [candidate for taken in chosen.values() for _, candidate in taken]
    return "\n".join(print_memory(item) for item in sorted(picked, key=lambda item: item.sources)) or "NONE"


def _scored(turns: Iterable[Mapping[str, Any]], known: set[str]) -> Iterable[tuple[float, Sentence, list[str]]]:
    for turn in turns:
        for sentence in sentences_of(turn["number"], turn["speaker"], turn["text"]):
            names = names_in(sentence.text, known)
            score = salience(sentence, names)
            if score >= LEAST_SALIENCE:
                yield score, sentence, names


def _candidate(
    sentence: Sentence, kind: str, names: list[str], participants: Iterable[str], score: float, expiration: str
) -> Candidate:
    who = dict.fromkeys([sentence.speaker, *names]) if sentence.speaker else dict.fromkeys(names)
    return Candidate(
        kind=kind,
        text=attributed(sentence, names),
        importance=importance(score),
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
