"""The search: reads the query, has candidates fetched, ranks them, and loads the best."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
import structlog

from apps.chats.models import Message
from apps.llm.backends import embedder_for
from apps.llm.embeddings import EmbeddingUnavailable
from apps.memories.lexemes import lexemes_of
from apps.memories.models import Memory
from apps.memories.search.candidates import (
    MESSAGES,
    Probe,
    Scope,
    find_memories,
    find_messages,
    participants_of,
)
from apps.memories.search.excerpts import best_sentence, excerpt
from apps.memories.search.presets import PRESETS, Preset
from apps.memories.search.questions import Question, lead_of_vectors, read_question
from apps.memories.search.ranking import Ranked, rank

TIERS = (*Memory.Tier.values, MESSAGES)

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class SearchQuery:
    """What is looked for, and where: everywhere, in a chat, in a character's chats and memories, or, with both, in a
    chat and its character's long-term memories. ``before`` leaves out messages from this index on.
    """

    query: str
    chat: UUID | None = None
    character: UUID | None = None
    instance: str | None = None
    tiers: Collection[str] = TIERS
    limit: int = 10
    min_score: float = 0.0
    preset: str = "default"
    before: int | None = None


@dataclass(frozen=True)
class SearchResult:
    """A memory or a message, with its score (0 to 1), the signals behind it, and what to show of its text."""

    tier: str
    memory: Memory | None
    message: Message | None
    score: float
    signals: Mapping[str, float]
    matched_sentence: str
    excerpt: str

    @property
    def id(self) -> UUID:
        return (self.memory or self.message).pk  # type: ignore[union-attr]


@dataclass(frozen=True)
class SearchReply:
    """``method``: by meaning and words ("hybrid"), by meaning alone ("vector"), or by words alone ("text")."""

    method: str
    results: list[SearchResult]


@dataclass(frozen=True)
class Vectors:
    model: str = ""
    rows: Sequence[np.ndarray] = ()


def search(owner: Any, query: SearchQuery) -> SearchReply:
    """What ``owner`` (a user or the id of one) has that answers ``query``, best first."""
    method, ranked = find(getattr(owner, "pk", owner), query)
    best = [one for one in ranked if one.score >= query.min_score][: query.limit]
    return SearchReply(method, _results(owner, best, query.query))


def find(owner_id: UUID, query: SearchQuery) -> tuple[str, list[Ranked]]:
    """The method that served and all candidates, ranked, without their rows."""
    preset = PRESETS[query.preset]
    scope = Scope(owner_id, query.tiers, query.chat, query.character, query.instance, query.before)
    participants = participants_of(scope) if preset.names_apart else []
    question = read_question(query.query, participants, names_apart=preset.names_apart)
    vectors = _vectors(owner_id, question, preset) if _uses(preset, "vector") else Vectors()
    if not vectors.rows and not _uses(preset, "lexical"):
        preset = PRESETS["bm25"]
    lexemes = lexemes_of(question.text) if _uses(preset, "lexical") else []
    probe = Probe(lexemes, vectors.model, vectors.rows)
    candidates = [
        *find_messages(scope, probe, preset, question, participants),
        *find_memories(scope, probe, preset, question, query.query),
    ]
    return _method(probe), rank(candidates, preset, lead_of_vectors(participants))


def _uses(preset: Preset, arm: str) -> bool:
    return any(arm in name for name in preset.arms)


def _vectors(owner_id: UUID, question: Question, preset: Preset) -> Vectors:
    """The vectors of the whole query and of its sentences; none where no model is to be had."""
    sentences = question.sentences if preset.whole_share < 1 else ()
    try:
        embedder = embedder_for(owner_id)
        return Vectors(embedder.model, list(embedder.embed([question.text, *sentences])))
    except EmbeddingUnavailable:
        log.warning("search_without_vectors")
        return Vectors()


def _method(probe: Probe) -> str:
    if probe.vectors:
        return "hybrid" if probe.lexemes else "vector"
    return "text"


def _results(owner: Any, ranked: Sequence[Ranked], query: str) -> list[SearchResult]:
    """The rows of what was ranked; what was deleted in the meantime is left out."""
    said = [one.candidate.id for one in ranked if one.candidate.turn]
    kept = [one.candidate.id for one in ranked if not one.candidate.turn]
    memories = Memory.objects.for_owner(owner).present().filter(hidden=False).with_history().in_bulk(kept)
    messages = Message.objects.for_owner(owner).with_swipes().select_related("chat").in_bulk(said)
    return [
        _result(one, memories.get(one.candidate.id), messages.get(one.candidate.id), query)
        for one in ranked
        if one.candidate.id in memories or one.candidate.id in messages
    ]


def _result(ranked: Ranked, memory: Memory | None, message: Message | None, query: str) -> SearchResult:
    text = memory.text if memory else message.mes if message else ""
    sentence = best_sentence(text, query)
    return SearchResult(
        tier=ranked.candidate.tier,
        memory=memory,
        message=message,
        score=ranked.score,
        signals=ranked.signals,
        matched_sentence=sentence,
        excerpt=excerpt(text, sentence),
    )
