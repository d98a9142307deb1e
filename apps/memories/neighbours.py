"""What is remembered that a batch of candidates is near to."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from django.db import connection
from pgvector import Vector

from apps.chats.models import Chat
from apps.memories.dedup import Neighbour, jaccard
from apps.memories.line_format import Candidate, candidate_hash
from apps.memories.models import Memory

NEAREST = 6

# `+ 0` keeps the search exact: no index on the distance is used, whatever indexes there are.
_SQL = """
SELECT batch.number, near.id, near.kind, near.text, near.similarity, near.forgotten
FROM unnest(%(vectors)s::vector[]) WITH ORDINALITY AS batch (vector, number)
CROSS JOIN LATERAL (
    SELECT id, kind, text, state <> 'active' OR deleted_at IS NOT NULL AS forgotten, 1 - (embedding <=> batch.vector) AS similarity
    FROM memories_memory
    WHERE owner_id = %(owner)s AND {scope} AND tier = %(tier)s AND embedding_model = %(model)s
      AND (state = 'active' OR deleted_at IS NOT NULL OR candidate_hash = ANY(%(hashes)s))
    ORDER BY (embedding <=> batch.vector) + 0
    LIMIT %(nearest)s
) AS near
ORDER BY batch.number, near.similarity DESC
"""


def find_neighbours(
    chat: Chat, tier: str, candidates: Sequence[Candidate], vectors: np.ndarray[Any, Any], model: str
) -> list[list[Neighbour]]:
    """For each candidate the nearest entries of the tier, nearest first, in one query for the whole batch.

    Long-term memories are the character's, session memories the chat's. What a person deleted is among them, and
    what was kept before in the very same words, so that a text read again teaches nothing.
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
                "hashes": [candidate_hash(candidate.kind, candidate.text) for candidate in candidates],
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


def neighbours_by_words(chat: Chat, tier: str, candidates: Sequence[Candidate]) -> list[list[Neighbour]]:
    """The same by common words, for when there are no vectors."""
    scope = {"character_id": chat.character_id} if "character" in _scope(chat, tier) else {"chat_id": chat.pk}
    hashes = [candidate_hash(candidate.kind, candidate.text) for candidate in candidates]
    known = list(Memory.objects.for_owner(chat.owner_id).comparable(hashes).filter(tier=tier, **scope))
    return [_nearest_by_words(candidate.text, known) for candidate in candidates]


def _nearest_by_words(text: str, memories: Sequence[Memory]) -> list[Neighbour]:
    near = [
        Neighbour(memory.pk, memory.kind, memory.text, jaccard(text, memory.text), forgotten=not memory.is_active)
        for memory in memories
    ]
    return sorted(near, key=lambda neighbour: -neighbour.similarity)[:NEAREST]
