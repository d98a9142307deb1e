"""Select memories that were active at a turn: those of the character and those of the chat."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any
from uuid import UUID

from django.db.models import (
    Case,
    ExpressionWrapper,
    F,
    FloatField,
    Prefetch,
    Q,
    Value,
    When,
    Window,
    prefetch_related_objects,
)
from django.db.models.functions import Cast, Coalesce, RowNumber
from pgvector.django import CosineDistance

from apps.chats.models import Character
from apps.extraction.parsers.triggers import trigger_words
from apps.injection.turns import UserTurn
from apps.injection.witnessing import Viewpoint
from apps.memories.models import Entity, Memory, MemorySource
from apps.memories.queries.scenes import last_scene_end
from apps.memories.querysets import MemoryQuerySet
from apps.memories.search import NO_VECTORS, QueryVectors

MAX_MEMORIES = 80  # more than fit into any budget, whatever the settings say
MAX_TRIGGERED = 4  # memories beyond the cap that trigger words recall
LONG_TERM_KINDS = 4  # each kind of long-term memory has its share of the cap

# Weights of the terms of the priority. The cosine similarity to the turn, at most 1, has the weight 1.
IMPORTANCE_WEIGHT = 0.3
CONFIDENCE_WEIGHT = 0.2
RECENCY_WEIGHT = 0.2
TRIGGER_WEIGHT = 0.3
PINNED_WEIGHT = 10.0


@dataclass(frozen=True)
class ActiveMemory:
    """A memory, its cosine similarity to a turn, its priority in the prompt, and its trigger words in the turn.

    Pinned memories have the highest priority. The others are ranked by importance and confidence, those of a session
    also by recency, similarity and whether the turn has a trigger word. ``always``: it stands in the prompt whatever
    the turn says. The priority of long-term memories does not depend on the turn, so that their block stays the same.
    """

    memory: Memory
    similarity: float
    priority: float
    triggers: Sequence[str]
    always: bool


def active_memories(
    turn: UserTurn,
    tiers: Iterable[str],
    character: Character | None,
    required: Collection[UUID],
    vectors: QueryVectors = NO_VECTORS,
) -> dict[str, list[ActiveMemory]]:
    """Return, by tier, memories that were active just before the turn, oldest first.

    These are the ones of highest priority up to the cap of the tier, those that a trigger word recalls, and those with
    an id in ``required``. ``vectors`` are those of the turn's text.
    """
    similarity, current = _similarity_expression(vectors), is_current(turn)
    words = _triggers_in(turn, character)
    memories = {
        tier: _active_memories_of_tier(turn, tier, character, required, similarity, current, words) for tier in tiers
    }
    _prefetch([active.memory for rows in memories.values() for active in rows])
    return memories


def _prefetch(memories: Sequence[Memory]) -> None:
    """Read the memories' entities and source messages, in two queries."""
    sources = MemorySource._base_manager.filter(message__chat__deleted_at=None).select_related("message__chat")
    entities = Prefetch("entities", queryset=Entity._base_manager.all())
    prefetch_related_objects(memories, entities, Prefetch("sources", queryset=sources))


def _active_memories_of_tier(
    turn: UserTurn,
    tier: str,
    character: Character | None,
    required: Collection[UUID],
    similarity: Any,
    current: Q,
    words: Sequence[str],
) -> list[ActiveMemory]:
    rows = memories_of_tier(turn, tier, character).known_at(turn.chat, turn.index - 1)
    rows = rows.annotate(similarity=similarity)
    rows = rows.annotate(priority=_priority_expression(turn, tier, words))
    triggered = rows.filter(current, triggers__overlap=words).order_by("-similarity", "pk")
    always = set(_always_included(rows.filter(current), turn, tier))
    ids = {
        *required,
        *always,
        *triggered.values_list("pk", flat=True)[:MAX_TRIGGERED],
    }
    return [
        ActiveMemory(
            memory=row,
            similarity=row.similarity,
            priority=row.priority,
            triggers=[word for word in row.triggers if word in words],
            always=row.pk in always,
        )
        for row in rows.filter(pk__in=ids).defer("embedding", "lexemes").order_by("pk")
    ]


def _triggers_in(turn: UserTurn, character: Character | None) -> list[str]:
    """Return the words of the turn that can recall memories.

    The names of the character and the persona can't: nearly every memory has them, and they say nothing about the turn.
    """
    names = trigger_words(f"{turn.chat.user_name} {character.name if character else ''}")
    return [word for word in trigger_words(turn.text) if word not in names]


def _always_included(rows: Any, turn: UserTurn, tier: str) -> Any:
    """Return the ids of the memories of highest priority: up to the tier's cap, and its share for each kind."""
    cap = turn.memory_settings.session_cap
    if tier == Memory.Tier.LONG_TERM:
        cap = turn.memory_settings.long_term_cap
        rank = Window(RowNumber(), partition_by="kind", order_by=[F("priority").desc(), "-pk"])
        rows = rows.annotate(rank=rank).filter(Q(pinned=True) | Q(rank__lte=ceil(cap / LONG_TERM_KINDS)))
    return rows.order_by("-priority", "-pk").values_list("pk", flat=True)[: min(cap, MAX_MEMORIES)]


def is_current(turn: UserTurn) -> Q:
    """Return the condition of memories that are not about a scene which has ended."""
    in_scene = Q(valid_from=None) | Q(begins_here__gt=last_scene_end(turn.chat, turn.index))
    return ~Q(expiration=Memory.Expiration.SCENE) | in_scene


def active_ids_before(turn: UserTurn, memory_ids: Collection[UUID]) -> set[UUID]:
    """Return the ids of those memories that were active just before the turn."""
    rows = Memory.objects.for_owner(turn.owner_id).present().filter(pk__in=list(memory_ids))
    return set(rows.known_at(turn.chat, turn.index - 1).values_list("pk", flat=True))


def memories_of_tier(turn: UserTurn, tier: str, character: Character | None) -> MemoryQuerySet:
    """Return the visible memories of a tier: long-term ones of the character, others of the chat.

    Both include the memories that a branch inherited. In a group, leave out those that the character did not witness.
    A long-term memory that expires with its session is not carried to other chats.
    """
    rows: MemoryQuerySet = Memory.objects.for_owner(turn.owner_id).present().filter(tier=tier, hidden=False)
    if tier != Memory.Tier.LONG_TERM:
        rows = rows.filter(Viewpoint(turn.chat, character).session_memories())
    if tier == Memory.Tier.LONG_TERM and character is not None:
        rows = rows.relevant_to(turn.chat, character.pk).filter(character=character)
        return rows.filter(~Q(expiration=Memory.Expiration.SESSION) | Q(chat=turn.chat) | Q(inherited__isnull=False))
    return rows.learnt_in(turn.chat)


def _similarity_expression(vectors: QueryVectors) -> Any:
    """Return an expression for the cosine similarity to the whole text; 0 without a vector of the same model."""
    if not vectors.rows:
        return Value(0.0, output_field=FloatField())
    cosine = ExpressionWrapper(1.0 - CosineDistance("embedding", vectors.rows[0]), output_field=FloatField())
    return Case(When(embedding_model=vectors.model, embedding__isnull=False, then=cosine), default=0.0)


def _priority_expression(turn: UserTurn, tier: str, words: Sequence[str]) -> Any:
    value = _float(IMPORTANCE_WEIGHT / 3) * F("importance") + _float(CONFIDENCE_WEIGHT) * F("confidence_here")
    value += Case(When(pinned=True, then=_float(PINNED_WEIGHT)), default=_float(0))
    if tier == Memory.Tier.SESSION:
        value += F("similarity") + Case(When(triggers__overlap=words, then=_float(TRIGGER_WEIGHT)), default=_float(0))
        value += _float(RECENCY_WEIGHT / max(turn.index, 1)) * Coalesce(F("begins_here"), 0)
    return ExpressionWrapper(value, output_field=FloatField())


def _float(value: float) -> Cast:
    """Return a number that the database doesn't take for an exact decimal, with which it counts more slowly."""
    return Cast(Value(value), FloatField())
