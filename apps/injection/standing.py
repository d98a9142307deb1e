"""The memories that a prompt may always carry: those of the character, and those of the chat."""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Case, ExpressionWrapper, F, FloatField, Prefetch, Q, Value, When
from django.db.models.functions import Coalesce
from pgvector.django import CosineDistance

from apps.chats.models import Character
from apps.injection.turns import Turn
from apps.llm.backends import embedder_for
from apps.llm.embeddings import EmbeddingUnavailable
from apps.memories.lineage import relatives
from apps.memories.models import Entity, Inheritance, Memory, MemorySource
from apps.memories.witnesses import participant_of

CANDIDATES = 80  # more than any budget takes; keeps a store of thousands out of the process

# How much each counts beside likeness to the turn, which runs from 0 to 1.
IMPORTANCE_WEIGHT = 0.3
CONFIDENCE_WEIGHT = 0.2
RECENCY_WEIGHT = 0.2
PINNED_WEIGHT = 10.0


@dataclass(frozen=True)
class Standing:
    """A memory as it stands to a turn: its cosine with it, and what it is worth in a prompt.

    For its worth counts whether it is pinned, then the cosine, importance, confidence and, in a session, recency.
    """

    memory: Memory
    similarity: float
    usefulness: float


def standing_memories(
    turn: Turn, tiers: Iterable[str], character: Character | None, found: Collection[UUID]
) -> dict[str, list[Standing]]:
    """The most useful memories of each tier as they stood at the turn, oldest first; those ``found`` are among them."""
    similarity = _similarity(turn.owner_id, turn.text)
    return {tier: _of_one_tier(turn, tier, character, found, similarity) for tier in tiers}


def _of_one_tier(
    turn: Turn, tier: str, character: Character | None, found: Collection[UUID], similarity: Any
) -> list[Standing]:
    rows = _as_of(_of_tier(turn, tier, character), turn).annotate(similarity=similarity)
    found_first = Case(When(pk__in=list(found), then=0), default=1)
    ranked = rows.annotate(usefulness=_usefulness(turn, tier)).order_by(found_first, "-usefulness", "pk")
    chosen = _with_provenance(ranked.defer("embedding", "lexemes"))[:CANDIDATES]
    return [Standing(row, row.similarity, row.usefulness) for row in sorted(chosen, key=lambda row: row.pk)]


def known_before(turn: Turn, memory_ids: Collection[UUID]) -> set[UUID]:
    """Those of the memories that were known, and not yet replaced, just before the turn."""
    rows = Memory.objects.for_owner(turn.owner_id).present().filter(pk__in=list(memory_ids))
    return set(_as_of(rows, turn).values_list("pk", flat=True))


def _with_provenance(memories: Any) -> Any:
    """With the entities that each names and the messages that each came from, in two further queries."""
    return memories.prefetch_related(
        Prefetch("entities", queryset=Entity._base_manager.all()),
        Prefetch("sources", queryset=MemorySource._base_manager.select_related("message__chat")),
    )


def _of_tier(turn: Turn, tier: str, character: Character | None) -> Any:
    """Long-term memories go with the character, those of a session with the chat; a branch has what it took over."""
    rows = Memory.objects.for_owner(turn.owner_id).present().filter(tier=tier, hidden=False)
    witness = participant_of(turn.chat, character)
    if witness is not None:
        rows = rows.filter(Q(witnessed_by=[]) | Q(witnessed_by__contains=[witness.pk]))
    taken_over = Q(pk__in=_inherited(turn))
    if tier == Memory.Tier.LONG_TERM and character is not None:
        return rows.filter(Q(character=character) & ~Q(chat__in=relatives(turn.chat)) | taken_over)
    return rows.filter(Q(chat=turn.chat) | taken_over)


def _inherited(turn: Turn) -> Any:
    return Inheritance.objects.for_owner(turn.owner_id).filter(chat=turn.chat).values("memory_id")


def _as_of(rows: Any, turn: Turn) -> Any:
    """What was known just before the turn, and not yet replaced then. Other chats' memories count as known."""
    began = Q(valid_from=None) | ~Q(valid_from__chat=turn.chat) | Q(valid_from__index__lt=turn.index)
    replaced_later = Q(state=Memory.State.SUPERSEDED, valid_to__chat=turn.chat, valid_to__index__gte=turn.index)
    own = began & (Q(state=Memory.State.ACTIVE) | replaced_later) & ~Q(pk__in=_inherited(turn))
    theirs = Inheritance.objects.for_owner(turn.owner_id).filter(chat=turn.chat)
    theirs = theirs.filter(Q(valid_from=None) | Q(valid_from__index__lt=turn.index))
    later = Q(state=Memory.State.SUPERSEDED, valid_to__index__gte=turn.index)
    standing = theirs.filter(Q(state=Memory.State.ACTIVE) | later)
    return rows.filter(own | Q(pk__in=standing.values("memory_id")))


def _similarity(owner_id: UUID, text: str) -> Any:
    """Cosine of the memory and the turn; 0 where there is no vector of the current model to compare."""
    try:
        embedder = embedder_for(owner_id)
        vector = embedder.embed([text])[0]
    except EmbeddingUnavailable:
        return Value(0.0, output_field=FloatField())
    cosine = ExpressionWrapper(1.0 - CosineDistance("embedding", vector), output_field=FloatField())
    return Case(When(embedding_model=embedder.model, embedding__isnull=False, then=cosine), default=0.0)


def _usefulness(turn: Turn, tier: str) -> Any:
    value = F("similarity") + IMPORTANCE_WEIGHT * F("importance") / 3.0 + CONFIDENCE_WEIGHT * F("confidence")
    value += Case(When(pinned=True, then=PINNED_WEIGHT), default=0.0)
    if tier == Memory.Tier.SESSION:
        value += RECENCY_WEIGHT / max(turn.index, 1) * Coalesce(F("valid_from__index"), 0)
    return ExpressionWrapper(value, output_field=FloatField())
