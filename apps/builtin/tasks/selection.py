"""Answer the tasks ``long_term`` and ``session``: select the sentences that are worth remembering."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from apps.builtin.reading.names import certain_names, typed_entity
from apps.builtin.reading.statements import with_speaker
from apps.builtin.worth.model import worth_of
from apps.builtin.worth.salience import LONG_TERM, SESSION, classify, importance
from apps.builtin.worth.worthwhile import Worthwhile, worthwhile_sentences
from apps.extraction.memories.lines import EXPIRATION, Candidate, format_memory
from apps.llm.generation import GenerationRequest
from apps.text.detection import ENGLISH

FALLBACK_KINDS = {LONG_TERM: "fact", SESSION: "detail"}  # used once a kind is full


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
    for item in sorted(worthwhile_sentences(turns, participants), key=lambda item: -item.score):
        item_tier, kind = _tier_and_kind(item)
        if kinds[kind] >= per_kind:
            kind = FALLBACK_KINDS[tier]
        if item_tier == tier and kinds[kind] < per_kind:
            kinds[kind] += 1
            chosen.append(_candidate(item, kind, participants, EXPIRATION[tier]))
    return "\n".join(format_memory(item) for item in sorted(chosen, key=lambda item: item.sources)) or "NONE"


def _tier_and_kind(item: Worthwhile) -> tuple[str, str]:
    """Return the tier and kind of what is worth remembering: by its grammar in English, else as learned."""
    if item.language == ENGLISH:
        return classify(item.main)
    kind = worth_of(item.main.text, spoken=item.main.spoken).kind
    if item.main.wanted:
        return LONG_TERM, "fact" if kind == "development" else kind
    if kind == "development":
        return SESSION, kind
    return (LONG_TERM, kind) if item.main.spoken or kind == "relationship" else (SESSION, "detail")


def _candidate(item: Worthwhile, kind: str, participants: Iterable[str], expiration: str) -> Candidate:
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
