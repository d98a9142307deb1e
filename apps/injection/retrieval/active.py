"""Select memories that were active at a turn: those of the character and those of the chat."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Case, ExpressionWrapper, F, FloatField, Prefetch, Q, Value, When
from django.db.models.functions import Coalesce
from pgvector.django import CosineDistance

from apps.chats.models import Character
from apps.injection.turns import UserTurn
from apps.llm.backends import embedder_for
from apps.llm.embeddings import EmbeddingUnavailable
from apps.memories.models import Entity, Memory, MemorySource
from apps.memories.querysets import MemoryQuerySet
from apps.memories.witnesses import participant_of

MAX_MEMORIES = 80  # more than fit into any budget; a character may have thousands

# Weights of the terms of the priority. The cosine similarity to the turn, at most 1, has the weight 1.
IMPORTANCE_WEIGHT = 0.3
CONFIDENCE_WEIGHT = 0.2
RECENCY_WEIGHT = 0.2
PINNED_WEIGHT = 10.0


@dataclass(frozen=True)
class ActiveMemory:
    """A memory, its cosine similarity to a turn and its priority in the prompt.

    Pinned memories have the highest priority. The others are ranked by similarity, importance and confidence, those
    of a session also by recency.
    """

    memory: Memory
    similarity: float
    priority: float


def active_memories(
    turn: UserTurn, tiers: Iterable[str], character: Character | None, required: Collection[UUID]
) -> dict[str, list[ActiveMemory]]:
    """Return, by tier, the memories of highest priority that were active just before the turn, oldest first.

    Memories with an id in ``required`` rank before all others.
    """
    similarity = _similarity_expression(turn.owner_id, turn.text)
    return {tier: _active_memories_of_tier(turn, tier, character, required, similarity) for tier in tiers}


def _active_memories_of_tier(
    turn: UserTurn, tier: str, character: Character | None, required: Collection[UUID], similarity: Any
) -> list[ActiveMemory]:
    rows = _memories_of_tier(turn, tier, character).known_at(turn.chat, turn.index - 1).annotate(similarity=similarity)
    required_first = Case(When(pk__in=list(required), then=0), default=1)
    ranked = rows.annotate(priority=_priority_expression(turn, tier)).order_by(required_first, "-priority", "pk")
    # Entities and source messages are read in two more queries.
    chosen = ranked.defer("embedding", "lexemes").prefetch_related(
        Prefetch("entities", queryset=Entity._base_manager.all()),
        Prefetch(
            "sources",
            queryset=MemorySource._base_manager.filter(message__chat__deleted_at=None).select_related("message__chat"),
        ),
    )[:MAX_MEMORIES]
    return [ActiveMemory(row, row.similarity, row.priority) for row in sorted(chosen, key=lambda row: row.pk)]


def active_ids_before(turn: UserTurn, memory_ids: Collection[UUID]) -> set[UUID]:
    """Return the ids of those memories that were active just before the turn."""
    rows = Memory.objects.for_owner(turn.owner_id).present().filter(pk__in=list(memory_ids))
    return set(rows.known_at(turn.chat, turn.index - 1).values_list("pk", flat=True))


def _memories_of_tier(turn: UserTurn, tier: str, character: Character | None) -> MemoryQuerySet:
    """Return the visible memories of a tier: long-term ones of the character, others of the chat.

    Both include the memories that a branch inherited. In a group, leave out those that the character did not witness.
    """
    rows: MemoryQuerySet = Memory.objects.for_owner(turn.owner_id).present().filter(tier=tier, hidden=False)
    witness = participant_of(turn.chat, character)
    if witness is not None:
        rows = rows.filter(Q(witnessed_by=[]) | Q(witnessed_by__contains=[witness.pk]))
    if tier == Memory.Tier.LONG_TERM and character is not None:
        return rows.relevant_to(turn.chat, character.pk).filter(character=character)
    return rows.learnt_in(turn.chat)


def _similarity_expression(owner_id: UUID, text: str) -> Any:
    """Return an expression for the cosine similarity to ``text``; 0 without a vector of the current model."""
    try:
        embedder = embedder_for(owner_id)
        vector = embedder.embed([text])[0]
    except EmbeddingUnavailable:
        return Value(0.0, output_field=FloatField())
    cosine = ExpressionWrapper(1.0 - CosineDistance("embedding", vector), output_field=FloatField())
    return Case(When(embedding_model=embedder.model, embedding__isnull=False, then=cosine), default=0.0)


def _priority_expression(turn: UserTurn, tier: str) -> Any:
    value = F("similarity") + IMPORTANCE_WEIGHT * F("importance") / 3.0 + CONFIDENCE_WEIGHT * F("confidence_here")
    value += Case(When(pinned=True, then=PINNED_WEIGHT), default=0.0)
    if tier == Memory.Tier.SESSION:
        value += RECENCY_WEIGHT / max(turn.index, 1) * Coalesce(F("begins_here"), 0)
    return ExpressionWrapper(value, output_field=FloatField())
