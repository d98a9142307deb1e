"""Find the memories that are similar to a batch of candidates."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models import Exists, F, Max, OuterRef, Q, Subquery
from pgvector import Vector

from apps.chats.models import Character, Chat, Message
from apps.common.database.named_parameters import named_sql
from apps.english.words import jaccard
from apps.llm.backends.selection import vectors_if_available
from apps.memories.models import Inheritance, Memory, MemorySource, RetiredReason
from apps.memories.verdicts.known_statements import Neighbour
from apps.memories.visibility import MemoryQuerySet

MAX_NEIGHBOURS = 12
# A memory retired for one of these can be learnt again.
LOST_REASONS = (RetiredReason.SOURCE_GONE, RetiredReason.SOURCE_CHANGED, RetiredReason.FRESH_START)


@dataclass(frozen=True)
class ComparisonScope:
    """The memories of a tier with which candidates are compared, and the deleted memories of all tiers.

    Long-term memories are the character's, except those of other branches of the same story; session memories, and
    all of a chat without a character, are the chat's. Memories that a branch inherited are included, with their state
    in the branch.
    """

    chat: Chat
    tier: str
    character: Character | None = None

    @property
    def character_id(self) -> UUID | None:
        return self.character.pk if self.character else self.chat.character_id


# Deleted and corrected memories of all tiers are ranked on their own: nearer ones must not crowd them out. A window
# function never uses an approximate index on the distance, so that the search is exact.
_NEAREST_SQL = """
SELECT batch.number, nearest.id, nearest.kind, nearest.text, nearest.similarity, nearest.deleted, nearest.ended,
       source.index, nearest.same_hash, coalesce(said.at, nearest.written_at), nearest.former_texts,
       nearest.is_corrected AND coalesce(said.by_person, true), nearest.same_tier
FROM unnest(%(vectors)s::halfvec[], %(hashes)s::text[]) WITH ORDINALITY AS batch (vector, hash, number)
CROSS JOIN LATERAL (
    SELECT id, kind, text, begins_message_id,
           1 - (embedding <=> batch.vector) AS similarity,
           deleted_at IS NOT NULL AS deleted, deleted_at IS NULL AND state_here <> 'active' AS ended,
           candidate_hash = batch.hash AS same_hash,
           CASE WHEN edited_by <> '' AND valid_from_id IS NULL THEN created_at END AS written_at,
           former_texts, tier = %(tier)s AS same_tier,
           edited_by <> '' AND (former_texts <> '{{}}' OR candidate_hash = '') AS is_corrected,
           row_number() OVER (
               PARTITION BY deleted_at IS NULL AND tier = %(tier)s
               ORDER BY candidate_hash = batch.hash DESC, embedding <=> batch.vector
           ) AS rank
    FROM ({compared}) AS memory
    WHERE deleted_at IS NOT NULL OR state_here = 'active' OR candidate_hash = batch.hash OR id = ANY(%(previous)s)
) AS nearest
LEFT JOIN chats_message AS source ON source.id = nearest.begins_message_id AND source.chat_id = %(chat)s
LEFT JOIN LATERAL (
    SELECT max(message.sent_at) AS at, bool_and(message.is_user) AS by_person FROM memories_memorysource AS origin
    JOIN chats_message AS message ON message.id = origin.message_id
    WHERE origin.memory_id = nearest.id AND NOT origin.lost
) AS said ON true
WHERE nearest.rank <= %(limit)s
ORDER BY batch.number, nearest.same_hash DESC, nearest.similarity DESC
"""
_COMPARED = (
    *("id", "kind", "tier", "text", "former_texts", "embedding", "candidate_hash", "edited_by", "created_at"),
    *("deleted_at", "valid_from_id", "state_here", "begins_message_id"),
)


def find_neighbours(
    scope: ComparisonScope,
    hashes: Sequence[str],
    previous_ids: Sequence[UUID],
    vectors: np.ndarray[Any, Any],
    model: str,
) -> list[list[Neighbour]]:
    """Return the nearest memories of the scope for each candidate, nearest first, in one query for the whole batch.

    A memory without a source that a person wrote counts as said when it was written.

    A candidate is given by its hash and its vector. Included are memories that a person deleted, of any tier, and those
    from the same messages (``previous_ids``, so that reading a text again adds nothing), then the texts that a person
    corrected, of any tier. Memories that lost their source are excluded.
    """
    neighbours: list[list[Neighbour]] = [[] for _ in vectors]
    if not len(vectors):
        return neighbours
    rows = _comparable(scope, hashes, previous_ids).filter(embedding_model=model)
    rows = rows.annotate(state_here=F("state_here"), begins_message_id=F("begins_message_id")).order_by()
    compared, values = named_sql(rows.values(*_COMPARED), "compared")
    with connection.cursor() as cursor:
        cursor.execute(
            _NEAREST_SQL.format(compared=compared),
            values
            | {
                "vectors": [Vector(vector).to_text() for vector in vectors],
                "chat": scope.chat.pk,
                "tier": scope.tier,
                "hashes": list(hashes),
                "previous": list(previous_ids),
                "limit": MAX_NEIGHBOURS,
            },
        )
        for number, *row in cursor.fetchall():
            neighbours[number - 1].append(Neighbour(*row))
    return _with_former_texts(neighbours, partial(_cosines, scope.chat.owner_id, vectors))


def _cosines(owner_id: UUID, vectors: np.ndarray[Any, Any], texts: Sequence[str]) -> np.ndarray[Any, Any] | None:
    """Return a row for each of the vectors: its cosines with the texts. None if these can't be embedded."""
    embedded, _ = vectors_if_available(owner_id, texts)
    return None if embedded is None else vectors @ embedded.T


def memory_ids_from(chat: Chat, messages: Iterable[Message]) -> list[UUID]:
    """Return the ids of the memories that were created from or confirmed by any of the messages."""
    ids = [message.pk for message in messages]
    sources = MemorySource.objects.for_owner(chat.owner_id).filter(message__in=ids, lost=False)
    inherited = Inheritance.objects.for_owner(chat.owner_id).filter(chat=chat, message_ids__overlap=ids)
    return list({*sources.values_list("memory_id", flat=True), *inherited.values_list("memory_id", flat=True)})


def neighbours_by_words(
    scope: ComparisonScope, hashes: Sequence[str], previous_ids: Sequence[UUID], texts: Sequence[str]
) -> list[list[Neighbour]]:
    """Find neighbours as ``find_neighbours`` does, but by common words, for when there are no vectors."""
    chat = scope.chat
    sources = MemorySource.objects.for_owner(chat.owner_id).filter(memory=OuterRef("pk"), lost=False).order_by()
    said_at = sources.values("memory").annotate(at=Max("message__sent_at")).values("at")
    compared = _comparable(scope, hashes, previous_ids).annotate(
        said_at=Subquery(said_at), said_by_others=Exists(sources.filter(message__is_user=False))
    )
    memories = list(compared.annotate(state_here=F("state_here"), begins_index=F("begins_index")))
    neighbours = [_nearest_by_words(scope, hash_, text, memories) for hash_, text in zip(hashes, texts, strict=True)]
    return _with_former_texts(
        neighbours, lambda former: np.array([[jaccard(text, other) for other in former] for text in texts])
    )


def _with_former_texts(
    neighbours: Sequence[Sequence[Neighbour]],
    similarities_of: Callable[[Sequence[str]], np.ndarray[Any, Any] | None],
) -> list[list[Neighbour]]:
    """Return the neighbours of each candidate and, like deleted memories, the former texts of those corrected.

    Corrected memories of another tier stand only for their former texts. ``similarities_of`` texts are returned in a
    row for each candidate, or None if they can't be embedded.
    """
    found = [[one for one in of_candidate if one.same_tier or one.deleted] for of_candidate in neighbours]
    former = list(dict.fromkeys(text for of_one in neighbours for one in of_one for text in one.former_texts))
    similarities = similarities_of(former) if former else None
    if similarities is None:
        return found
    for of_one, of_candidate, row in zip(found, neighbours, similarities, strict=True):
        similarity = dict(zip(former, map(float, row), strict=True))
        of_one += [
            replace(
                one,
                text=text,
                similarity=similarity[text],
                deleted=True,
                ended=False,
                same_hash=False,
                corrected_to=one.text,
            )
            for one in of_candidate
            for text in one.former_texts
        ]
    return found


def _comparable(scope: ComparisonScope, hashes: Sequence[str], previous_ids: Sequence[UUID]) -> MemoryQuerySet:
    """Return the memories of the scope with which candidates with these hashes are compared."""
    chat = scope.chat
    learnt = Memory.objects.for_owner(chat.owner_id).learnt_in(chat)
    memories = learnt
    if scope.character_id is not None:
        of_character = Memory.objects.for_owner(chat.owner_id).relevant_to(chat, scope.character_id)
        of_character = of_character.filter(character_id=scope.character_id, tier=Memory.Tier.LONG_TERM)
        of_session = learnt.filter(tier=Memory.Tier.SESSION)
        ids = Q(pk__in=of_character.values("pk")) | Q(pk__in=of_session.values("pk"))
        memories = Memory.objects.for_owner(chat.owner_id).as_in(chat).filter(ids)
    is_kept = Q(tier=scope.tier) & ~Q(reason_here__in=LOST_REASONS)
    is_corrected = Q(former_texts__len__gt=0, state_here=Memory.State.ACTIVE)
    return memories.comparable(hashes, previous_ids).filter(Q(deleted_at__isnull=False) | is_corrected | is_kept)


def unembedded_memories(
    scope: ComparisonScope, hashes: Sequence[str], previous_ids: Sequence[UUID], model: str, limit: int
) -> list[tuple[UUID, str]]:
    """Return id and text of up to ``limit`` memories not embedded with ``model``, which ``find_neighbours`` misses.

    Deleted memories come first.
    """
    missing = _comparable(scope, hashes, previous_ids).exclude(embedding_model=model)
    return list(missing.order_by(F("deleted_at").desc(nulls_last=True), "-pk").values_list("pk", "text")[:limit])


def _nearest_by_words(
    scope: ComparisonScope,
    line_hash: str,
    text: str,
    memories: Sequence[Any],
) -> list[Neighbour]:
    neighbours = []
    for memory in memories:
        is_corrected = memory.edited_by and (memory.former_texts or not memory.candidate_hash)
        written_at = memory.created_at if memory.edited_by and memory.valid_from_id is None else None
        neighbours.append(
            Neighbour(
                id=memory.pk,
                kind=memory.kind,
                text=memory.text,
                similarity=jaccard(text, memory.text),
                deleted=memory.deleted_at is not None,
                ended=memory.deleted_at is None and memory.state_here != Memory.State.ACTIVE,
                valid_from_index=memory.begins_index,
                same_hash=memory.candidate_hash == line_hash,
                said_at=memory.said_at or written_at,
                former_texts=memory.former_texts,
                is_persons=bool(is_corrected and not memory.said_by_others),
                same_tier=memory.tier == scope.tier,
            )
        )
    nearest = sorted(neighbours, key=lambda neighbour: (not neighbour.same_hash, -neighbour.similarity))
    apart = {memory.pk for memory in memories if memory.deleted_at or memory.tier != scope.tier}
    active, removed = ([item for item in nearest if (item.id in apart) is gone] for gone in (False, True))
    return sorted([*active[:MAX_NEIGHBOURS], *removed[:MAX_NEIGHBOURS]], key=nearest.index)
