"""Read relationships between people."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from apps.chats.models import Character, Chat
from apps.chats.queries.keys import ChatOrKeys, keys_of
from apps.common.database.compiled_queries import CompiledQuery
from apps.memories.models import Ending, Entity, Relationship
from apps.memories.queries.endings import all_endings, endings_seen_in, has_ended, with_endings
from apps.memories.queries.knowledge import valid_at
from apps.memories.visibility import is_remembered, is_seen_in


@dataclass
class RelationshipPair:
    """The current and the earlier descriptors of how ``subject`` relates to ``target``."""

    subject: Entity
    target: Entity
    descriptors: list[Relationship]
    history: list[Relationship]


def relationships_in(chat: Chat, at: int | None = None) -> list[RelationshipPair]:
    """Return every directed pair of people with their descriptors.

    ``at`` is a message index: relationships are returned as they were after that message.
    """
    rows, current = PAIR_ROWS.rows(keys_of(chat), at), CURRENT_IDS.rows(keys_of(chat), at)
    return _pairs(rows, current, _endings_at(chat, at))


def _endings_at(chat: ChatOrKeys, at: int | None) -> QuerySet[Ending]:
    endings = endings_seen_in(chat)
    return endings if at is None else endings.filter(chat=chat.pk, message__index__lte=at)


def _rows(chat: ChatOrKeys) -> QuerySet[Relationship]:
    rows: QuerySet[Relationship] = Relationship.objects.for_owner(chat.owner_id)
    rows = rows.exclude(state=Relationship.State.RETIRED)
    if chat.character_id:
        return rows.filter(is_seen_in(chat), Q(chat=chat.pk) | Q(subject__character=chat.character_id))
    return rows.filter(chat=chat.pk)


def _valid_rows(chat: ChatOrKeys, at: int | None) -> QuerySet[Relationship]:
    if at is None:
        return _rows(chat).filter(state=Relationship.State.CURRENT)
    return valid_at(_rows(chat), chat, at).filter(Q(state=Relationship.State.CURRENT) | Q(until__chat=chat.pk))


def _pair_rows(chat: ChatOrKeys, at: int | None) -> QuerySet[Relationship]:
    """Return the rows that were valid, and those that had ended."""
    if at is None:
        return _with_people(_rows(chat))
    has_ended_here = Q(has_ended(Relationship, _endings_at(chat, at))) | Q(until__chat=chat.pk, until__index__lte=at)
    return _with_people(_rows(chat).filter(Q(pk__in=_valid_rows(chat, at).values("pk")) | has_ended_here))


def _current_ids(chat: ChatOrKeys, at: int | None) -> QuerySet[Relationship, Any]:
    return _ids_of_current(_valid_rows(chat, at), _endings_at(chat, at))


PAIR_ROWS: CompiledQuery[Relationship] = CompiledQuery(_pair_rows)
CURRENT_IDS: CompiledQuery[Relationship] = CompiledQuery(_current_ids)


def relationships_of(character: Character) -> list[RelationshipPair]:
    """Return every directed pair of the character's registry, from all chats.

    Two branches can hold the same descriptor of a pair; the newer one is returned.
    """
    rows = Relationship.objects.for_owner(character.owner_id).filter(subject__character=character)
    rows = rows.filter(is_remembered()).exclude(state=Relationship.State.RETIRED)
    endings = all_endings(character.owner_id)
    current = _ids_of_current(rows.filter(state=Relationship.State.CURRENT), endings)
    pairs = _pairs(_with_people(rows), current, endings)
    for pair in pairs:
        pair.descriptors = list({row.descriptor: row for row in pair.descriptors}.values())
    return pairs


def _ids_of_current(valid: QuerySet[Relationship], endings: QuerySet[Ending]) -> QuerySet[Relationship, Any]:
    """Return the ids of those of ``valid`` that none of ``endings`` ended."""
    return valid.filter(~has_ended(Relationship, endings)).values_list("pk", flat=True)


def _with_people(rows: QuerySet[Relationship]) -> QuerySet[Relationship]:
    return rows.select_related("subject", "target", "source__chat", "until__chat").order_by("pk")


def _pairs(
    rows: Iterable[Relationship], current_ids: Iterable[Any], endings: QuerySet[Ending]
) -> list[RelationshipPair]:
    """Group ``rows`` by subject and target. Those with ``current_ids`` are descriptors, the others history."""
    current = set(current_ids)
    pairs: dict[tuple[UUID, UUID], RelationshipPair] = {}
    for row in with_endings(rows, endings):
        key = (row.subject_id, row.target_id)
        pair = pairs.setdefault(key, RelationshipPair(row.subject, row.target, [], []))
        (pair.descriptors if row.pk in current else pair.history).append(row)
    return list(pairs.values())
