"""What is remembered that a batch of candidates is near to."""

from collections.abc import Iterable, Sequence, Set
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from pgvector import Vector

from apps.chats.models import Chat, Message
from apps.memories.dedup import Neighbour
from apps.memories.models import Memory, MemorySource
from apps.memories.wording import jaccard

NEAREST = 12

# `+ 0` keeps the search exact: no index on the distance is used, whatever indexes there are.
_SQL = """
SELECT batch.number, near.id, near.kind, near.text, near.similarity, near.forgotten, source.index,
       near.same_line, near.evicted
FROM unnest(%(vectors)s::vector[], %(hashes)s::text[]) WITH ORDINALITY AS batch (vector, hash, number)
CROSS JOIN LATERAL (
    SELECT id, kind, text, valid_from_id, 1 - (embedding <=> batch.vector) AS similarity,
           state <> 'active' OR deleted_at IS NOT NULL AS forgotten, candidate_hash = batch.hash AS same_line,
           retired_reason = 'capacity' AND deleted_at IS NULL AND NOT id = ANY(%(learnt)s) AS evicted
    FROM memories_memory
    WHERE owner_id = %(owner)s AND {scope} AND tier = %(tier)s AND embedding_model = %(model)s
      AND (state = 'active' OR retired_reason = 'capacity' OR deleted_at IS NOT NULL
           OR candidate_hash = batch.hash OR id = ANY(%(learnt)s))
    ORDER BY candidate_hash = batch.hash DESC, (embedding <=> batch.vector) + 0
    LIMIT %(nearest)s
) AS near
LEFT JOIN chats_message AS source ON source.id = near.valid_from_id AND source.chat_id = %(chat)s
ORDER BY batch.number, near.same_line DESC, near.similarity DESC
"""


def find_neighbours(
    chat: Chat, tier: str, hashes: Sequence[str], learnt: Sequence[UUID], vectors: np.ndarray[Any, Any], model: str
) -> list[list[Neighbour]]:
    """For each candidate, given by its hash and its vector, the nearest entries of the tier, nearest first, in one
    query for the whole batch.

    Long-term memories are the character's, session memories the chat's. What a person deleted is among them, and
    what was ``learnt`` from the same messages before, so that a text read again teaches nothing; and what had to make
    room, which can still be replaced.
    """
    found: list[list[Neighbour]] = [[] for _ in vectors]
    if not len(vectors):
        return found
    with connection.cursor() as cursor:
        cursor.execute(
            _SQL.format(scope=_scope(chat, tier)),
            {
                "vectors": [Vector(vector).to_text() for vector in vectors],
                "owner": chat.owner_id,
                "character": chat.character_id,
                "chat": chat.pk,
                "tier": tier,
                "hashes": list(hashes),
                "learnt": list(learnt),
                "model": model,
                "nearest": NEAREST,
            },
        )
        for number, *row in cursor.fetchall():
            found[number - 1].append(Neighbour(*row))
    return found


def _scope(chat: Chat, tier: str) -> str:
    by_character = tier == Memory.Tier.LONG_TERM and chat.character_id is not None
    return "character_id = %(character)s" if by_character else "chat_id = %(chat)s"


def learnt_from(chat: Chat, messages: Iterable[Message]) -> list[UUID]:
    """The memories that were made or confirmed from any of the messages."""
    sources = MemorySource.objects.for_owner(chat.owner_id).filter(message__in=list(messages))
    return list(sources.values_list("memory_id", flat=True).distinct())


def neighbours_by_words(
    chat: Chat, tier: str, hashes: Sequence[str], learnt: Sequence[UUID], texts: Sequence[str]
) -> list[list[Neighbour]]:
    """The same by common words, for when there are no vectors."""
    scope = {"character_id": chat.character_id} if "character" in _scope(chat, tier) else {"chat_id": chat.pk}
    mine = Memory.objects.for_owner(chat.owner_id).comparable(hashes, learnt).filter(tier=tier, **scope)
    known = list(mine.select_related("valid_from"))
    read = set(learnt)
    return [_nearest_by_words(chat, line, text, known, read) for line, text in zip(hashes, texts, strict=True)]


def _nearest_by_words(
    chat: Chat, line: str, text: str, memories: Sequence[Memory], learnt: Set[UUID]
) -> list[Neighbour]:
    near = [
        Neighbour(
            id=memory.pk,
            kind=memory.kind,
            text=memory.text,
            similarity=jaccard(text, memory.text),
            forgotten=not memory.is_active,
            since=memory.valid_from.index if memory.valid_from and memory.valid_from.chat_id == chat.pk else None,
            same_line=memory.candidate_hash == line,
            evicted=memory.retired_reason == "capacity" and not memory.deleted_at and memory.pk not in learnt,
        )
        for memory in memories
    ]
    return sorted(near, key=lambda neighbour: (not neighbour.same_line, -neighbour.similarity))[:NEAREST]
