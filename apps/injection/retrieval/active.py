"""Select memories that were active at a turn: those of the character and those of the chat."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any
from uuid import UUID

from django.db.models import Case, ExpressionWrapper, F, FloatField, Prefetch, Q, Value, When, Window
from django.db.models.functions import Coalesce, RowNumber
from pgvector.django import CosineDistance

from apps.chats.models import Character
from apps.extraction.parsers.triggers import trigger_words
from apps.extraction.settings.queries import settings_of
from apps.injection.turns import UserTurn
from apps.llm.backends import embedder_for
from apps.llm.embeddings import EmbeddingUnavailable
from apps.memories.lineage import relatives
from apps.memories.models import Entity, Inheritance, Memory, MemorySource
from apps.memories.queries.scenes import last_scene_end
from apps.memories.witnesses import participant_of

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

    Pinned memories have the highest priority. The others are ranked by similarity, importance, confidence and whether
    the turn has a trigger word, those of a session also by recency.
    """

    memory: Memory
    similarity: float
    priority: float
    triggers: Sequence[str]


def active_memories(
    turn: UserTurn, tiers: Iterable[str], character: Character | None, required: Collection[UUID]
) -> dict[str, list[ActiveMemory]]:
    """Return, by tier, memories that were active just before the turn, oldest first.

    These are the ones of highest priority up to the cap of the tier, those that a trigger word recalls, and those with
    an id in ``required``.
    """
    similarity = _similarity_expression(turn.owner_id, turn.text)
    return {tier: _active_memories_of_tier(turn, tier, character, required, similarity) for tier in tiers}


def _active_memories_of_tier(
    turn: UserTurn, tier: str, character: Character | None, required: Collection[UUID], similarity: Any
) -> list[ActiveMemory]:
    words = trigger_words(turn.text)
    rows = _active_as_of(_memories_of_tier(turn, tier, character), turn).annotate(similarity=similarity)
    rows = rows.annotate(priority=_priority_expression(turn, tier, words))
    triggered = rows.filter(_is_current(turn), triggers__overlap=words).order_by("-priority", "pk")
    ids = {
        *required,
        *_always_included(rows.filter(_is_current(turn)), turn, tier),
        *triggered.values_list("pk", flat=True)[:MAX_TRIGGERED],
    }
    # Entities and source messages are read in two more queries.
    chosen = (
        rows.filter(pk__in=ids)
        .defer("embedding", "lexemes")
        .prefetch_related(
            Prefetch("entities", queryset=Entity._base_manager.all()),
            Prefetch("sources", queryset=MemorySource._base_manager.select_related("message__chat")),
        )
    )
    return [
        ActiveMemory(row, row.similarity, row.priority, [word for word in row.triggers if word in words])
        for row in chosen.order_by("pk")
    ]


def _always_included(rows: Any, turn: UserTurn, tier: str) -> Any:
    """Return the ids of the memories of highest priority: up to the tier's cap, and its share for each kind."""
    settings = settings_of(turn.chat)
    cap = settings.session_cap
    if tier == Memory.Tier.LONG_TERM:
        cap = settings.long_term_cap
        rank = Window(RowNumber(), partition_by="kind", order_by=[F("priority").desc(), "pk"])
        rows = rows.annotate(rank=rank).filter(Q(pinned=True) | Q(rank__lte=ceil(cap / LONG_TERM_KINDS)))
    return rows.order_by("-priority", "pk").values_list("pk", flat=True)[: min(cap, MAX_MEMORIES)]


def _is_current(turn: UserTurn) -> Q:
    """Return the condition of memories that are not about a scene which has ended."""
    begun = {"valid_from__index__gt": last_scene_end(turn.chat, turn.index)}
    inherited = _inheritances(turn).filter(**begun).values("memory_id")
    in_scene = Q(valid_from=None) | Q(valid_from__chat=turn.chat, **begun) | Q(pk__in=inherited)
    return ~Q(expiration=Memory.Expiration.SCENE) | in_scene


def active_ids_before(turn: UserTurn, memory_ids: Collection[UUID]) -> set[UUID]:
    """Return the ids of those memories that were active just before the turn."""
    rows = Memory.objects.for_owner(turn.owner_id).present().filter(pk__in=list(memory_ids))
    return set(_active_as_of(rows, turn).values_list("pk", flat=True))


def _memories_of_tier(turn: UserTurn, tier: str, character: Character | None) -> Any:
    """Return the visible memories of a tier: long-term ones of the character, others of the chat.

    Both include the memories that a branch inherited. In a group, leave out those that the character did not witness.
    A long-term memory that expires with its session is not carried to other chats.
    """
    rows = Memory.objects.for_owner(turn.owner_id).present().filter(tier=tier, hidden=False)
    witness = participant_of(turn.chat, character)
    if witness is not None:
        rows = rows.filter(Q(witnessed_by=[]) | Q(witnessed_by__contains=[witness.pk]))
    inherited = Q(pk__in=_inheritances(turn).values("memory_id"))
    if tier == Memory.Tier.LONG_TERM and character is not None:
        # Branches of a chat tell different stories: only inherited memories count, not those of other branches.
        lasting = ~Q(chat__in=relatives(turn.chat)) & (~Q(expiration=Memory.Expiration.SESSION) | Q(chat=turn.chat))
        return rows.filter(Q(character=character) & lasting | inherited)
    return rows.filter(Q(chat=turn.chat) | inherited)


def _inheritances(turn: UserTurn) -> Any:
    return Inheritance.objects.for_owner(turn.owner_id).filter(chat=turn.chat)


def _active_as_of(rows: Any, turn: UserTurn) -> Any:
    """Filter the memories that were known and not superseded just before the turn.

    Positions count only within the turn's chat: memories of other chats are always known. Inherited memories have
    their state and positions in the branch.
    """
    known = Q(valid_from=None) | ~Q(valid_from__chat=turn.chat) | Q(valid_from__index__lt=turn.index)
    superseded_later = Q(state=Memory.State.SUPERSEDED, valid_to__chat=turn.chat, valid_to__index__gte=turn.index)
    inherited = _inheritances(turn)
    own = known & (Q(state=Memory.State.ACTIVE) | superseded_later) & ~Q(pk__in=inherited.values("memory_id"))
    active_inherited = inherited.filter(Q(valid_from=None) | Q(valid_from__index__lt=turn.index)).filter(
        Q(state=Memory.State.ACTIVE) | Q(state=Memory.State.SUPERSEDED, valid_to__index__gte=turn.index)
    )
    return rows.filter(own | Q(pk__in=active_inherited.values("memory_id")))


def _similarity_expression(owner_id: UUID, text: str) -> Any:
    """Return an expression for the cosine similarity to ``text``; 0 without a vector of the current model."""
    try:
        embedder = embedder_for(owner_id)
        vector = embedder.embed([text])[0]
    except EmbeddingUnavailable:
        return Value(0.0, output_field=FloatField())
    cosine = ExpressionWrapper(1.0 - CosineDistance("embedding", vector), output_field=FloatField())
    return Case(When(embedding_model=embedder.model, embedding__isnull=False, then=cosine), default=0.0)


def _priority_expression(turn: UserTurn, tier: str, words: Sequence[str]) -> Any:
    value = F("similarity") + IMPORTANCE_WEIGHT * F("importance") / 3.0 + CONFIDENCE_WEIGHT * F("confidence")
    value += Case(When(pinned=True, then=PINNED_WEIGHT), default=0.0)
    value += Case(When(triggers__overlap=words, then=TRIGGER_WEIGHT), default=0.0)
    if tier == Memory.Tier.SESSION:
        value += RECENCY_WEIGHT / max(turn.index, 1) * Coalesce(F("valid_from__index"), 0)
    return ExpressionWrapper(value, output_field=FloatField())
