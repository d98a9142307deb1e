"""Read the memories that were active at a turn: those of the character and those of the chat."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from apps.chats.models import Character
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.database.concurrent_reads import read_concurrently
from apps.memories.models import Memory, MemorySource
from apps.memories.trigger_words import trigger_words, words_said
from apps.prompts.retrieval.choices import Choice, Wanted, choose
from apps.prompts.retrieval.known import similarity_to, vector_text
from apps.prompts.turns import UserTurn
from apps.search.service import NO_VECTORS, QueryVectors


@dataclass(frozen=True)
class SourceMessage:
    """Where a memory comes from."""

    id: UUID
    chat_id: UUID
    index: int
    chat_title: str


@dataclass(frozen=True)
class ActiveMemory:
    """What a prompt needs of a memory: its text, the names in it, and the messages that it comes from.

    ``similarity`` is its cosine similarity to a turn, ``priority`` that in the prompt, ``triggers`` its trigger words
    in the turn. ``by_person``: a person edited or pinned it.

    Pinned memories have the highest priority. The others are ranked by importance and confidence, those of a session
    also by recency, similarity and whether the turn has a trigger word. ``always``: it stands in the prompt whatever
    the turn says. The priority of long-term memories does not depend on the turn, so that their block stays the same.
    """

    id: UUID
    tier: str
    kind: str
    text: str
    pinned: bool
    by_person: bool
    names: Sequence[str]
    sources: Sequence[SourceMessage]
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
    near: Collection[UUID] = (),
) -> dict[str, list[ActiveMemory]]:
    """Return, by tier, memories that were active just before the turn, oldest first.

    These are the ones of highest priority up to the cap of the tier, those that a trigger word recalls, and those with
    an id in ``required``. ``vectors`` are those of the turn's text, ``near`` the ids of memories that are near to it.
    """
    wanted = Wanted(_triggers_in(turn, character), vectors, required, near)
    reads = {tier: partial(choose, turn, tier, character, wanted) for tier in tiers}
    chosen: dict[str, list[Choice]] = dict(zip(reads, read_concurrently(*reads.values()), strict=True))
    ids = [choice.id for choices in chosen.values() for choice in choices]
    rows = {row.pk: row for row in ROWS.rows(turn.owner_id, ids, vectors.model, vector_text(vectors))}
    names, sources = _by_memory(NAMES.rows(ids)), _by_memory(SOURCES.rows(ids))
    return {
        tier: [
            ActiveMemory(
                id=row.pk,
                tier=row.tier,
                kind=row.kind,
                text=row.text,
                pinned=row.pinned,
                by_person=row.pinned or bool(row.edited_by),
                names=[name for (name,) in names[row.pk]],
                sources=[SourceMessage(*source) for source in sources[row.pk]],
                similarity=row.similarity,
                priority=choice.priority,
                triggers=[word for word in row.triggers if word in wanted.words],
                always=choice.always,
            )
            for choice in choices
            if (row := rows.get(choice.id))  # None if it was deleted meanwhile
        ]
        for tier, choices in chosen.items()
    }


def _by_memory(rows: Iterable[tuple[Any, ...]]) -> dict[UUID, list[tuple[Any, ...]]]:
    """Return the rest of each row, by the id of a memory in its first column."""
    grouped: dict[UUID, list[tuple[Any, ...]]] = defaultdict(list)
    for memory_id, *rest in rows:
        grouped[memory_id].append(tuple(rest))
    return grouped


def _rows(owner_id: Any, ids: Any, model: Any, vector: Any) -> QuerySet[Memory, Any]:
    present = Memory.objects.for_owner(owner_id).present().filter(pk__any=ids)
    with_similarity = present.annotate(similarity=similarity_to(model, vector)).order_by()
    columns = ("pk", "tier", "kind", "text", "pinned", "edited_by", "triggers", "similarity")
    rows: QuerySet[Memory, Any] = with_similarity.values_list(*columns, named=True)
    return rows


def _names(ids: Any) -> QuerySet[Any, Any]:
    links = Memory.entities.through._base_manager.filter(memory__id__any=ids)
    return links.order_by("entity").values_list("memory", "entity__name")


def _sources(ids: Any) -> QuerySet[MemorySource, Any]:
    visible = MemorySource._base_manager.filter(memory__id__any=ids, message__chat__deleted_at=None)
    columns = ("memory", "message", "message__chat", "message__index", "message__chat__title")
    return visible.order_by("pk").values_list(*columns)


ROWS: CompiledQuery[Any] = CompiledQuery(_rows)
NAMES: CompiledQuery[Any] = CompiledQuery(_names)
SOURCES: CompiledQuery[Any] = CompiledQuery(_sources)


def _triggers_in(turn: UserTurn, character: Character | None) -> list[str]:
    """Return the words of the turn that can recall memories.

    The names of the character and the persona can't: nearly every memory has them, and they say nothing about the turn.
    """
    names = trigger_words(f"{turn.chat.user_name} {character.name if character else ''}")
    return [word for word in words_said(turn.text) if word not in names]
