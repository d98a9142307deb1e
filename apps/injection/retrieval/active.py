"""Read the memories that were active at a turn: those of the character and those of the chat."""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Prefetch, QuerySet

from apps.chats.keys import ChatKeys, keys_of
from apps.chats.models import Character
from apps.common.database.compiled_queries import CompiledQuery
from apps.extraction.parsers.triggers import trigger_words
from apps.injection.retrieval.choices import Wanted, choose, similarity_to
from apps.injection.turns import UserTurn
from apps.memories.models import Entity, Memory, MemorySource
from apps.memories.search import NO_VECTORS, QueryVectors


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
    wanted = Wanted(_triggers_in(turn, character), vectors, required)
    chosen = {tier: choose(turn, tier, character, wanted) for tier in tiers}
    memories = _load(turn, [choice.id for choices in chosen.values() for choice in choices], vectors)
    return {
        tier: [
            ActiveMemory(
                memory=memory,
                similarity=memory.similarity,
                priority=choice.priority,
                triggers=[word for word in memory.triggers if word in wanted.words],
                always=choice.always,
            )
            for choice in choices
            if (memory := memories.get(choice.id))  # None if it was deleted meanwhile
        ]
        for tier, choices in chosen.items()
    }


def _load(turn: UserTurn, ids: Collection[UUID], vectors: QueryVectors) -> dict[UUID, Any]:
    """Return memories by id, with their ``similarity``, entities and source messages, in three queries."""
    rows = Memory.objects.for_owner(turn.owner_id).present().filter(pk__in=ids).defer("embedding", "lexemes")
    sources = MemorySource._base_manager.filter(message__chat__deleted_at=None).select_related("message__chat")
    entities = Prefetch("entities", queryset=Entity._base_manager.all())
    rows = rows.annotate(similarity=similarity_to(vectors))
    return {row.pk: row for row in rows.prefetch_related(entities, Prefetch("sources", queryset=sources))}


def _triggers_in(turn: UserTurn, character: Character | None) -> list[str]:
    """Return the words of the turn that can recall memories.

    The names of the character and the persona can't: nearly every memory has them, and they say nothing about the turn.
    """
    names = trigger_words(f"{turn.chat.user_name} {character.name if character else ''}")
    return [word for word in trigger_words(turn.text) if word not in names]


def active_ids_before(turn: UserTurn, memory_ids: Collection[UUID]) -> set[UUID]:
    """Return the ids of those memories that were active just before the turn."""
    return set(KNOWN_IDS.rows(keys_of(turn.chat), turn.index - 1, list(memory_ids)))


def _known_ids(chat: ChatKeys, index: Any, ids: Any) -> QuerySet[Memory, Any]:
    rows = Memory.objects.for_owner(chat.owner_id).present().filter(id__any=ids)
    known: QuerySet[Memory, Any] = rows.known_at(chat, index).values_list("pk", flat=True)
    return known


KNOWN_IDS: CompiledQuery[Any] = CompiledQuery(_known_ids)
