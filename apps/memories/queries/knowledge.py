"""Read who knows, suspects, believes, is unaware of or hides what."""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import groupby
from typing import TypeVar

from django.db.models import F, Q, QuerySet

from apps.chats.models import Character
from apps.chats.queries.keys import ChatOrKeys
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.words import Words
from apps.memories.models import Entity, Knowledge, Relationship, RetiredReason
from apps.memories.queries.endings import all_endings, endings_seen_in, has_ended
from apps.memories.visibility import is_seen_in

Row = TypeVar("Row", Knowledge, Relationship)


@dataclass
class KnowledgeMatrix:
    """A row for each person, a column for each kind of knowledge that occurs.

    ``kinds`` are the labels of the columns; each cell of a row holds its label and its entries.
    """

    kinds: list[Words]
    rows: list[tuple[Entity, list[tuple[Words, list[Knowledge]]]]]


def valid_at(rows: QuerySet[Row], chat: ChatOrKeys, at: int) -> QuerySet[Row]:
    """Return the rows that began and had not ended after the message at index ``at`` of the chat.

    Rows that began in another chat count as begun.
    """
    has_begun = Q(source=None) | ~Q(source__chat=chat.pk) | Q(source__index__lte=at)
    return rows.filter(has_begun).exclude(until__chat=chat.pk, until__index__lte=at)


def knowledge_in(chat: ChatOrKeys, at: int | None = None) -> QuerySet[Knowledge]:
    """Return the knowledge entries of a chat that are active, or were active after the message at index ``at``.

    Included are those that people of the character's registry brought from other chats, but not from other branches of
    the same story. What a branch has copied counts once, for the chat in which it was said.
    """
    rows: QuerySet[Knowledge] = Knowledge.objects.for_owner(chat.owner_id)
    brought = Q(chat=chat.pk)
    if chat.character_id:
        copied = Q(source__index__lte=F("chat__parent_index"))
        brought |= Q(subject__character=chat.character_id) & ~copied & is_seen_in(chat, story="chat__story")
    rows = rows.filter(brought)
    was_active = Q(state=Knowledge.State.ACTIVE)
    endings = endings_seen_in(chat)
    if at is not None:
        # An outdated entry is retired now, but was active up to the message that ended it.
        rows, was_active = valid_at(rows, chat, at), was_active | Q(retired_reason=RetiredReason.OUTDATED)
        endings = endings.filter(chat=chat.pk, message__index__lte=at)
    return _ordered(rows.filter(was_active, ~has_ended(Knowledge, endings)))


KNOWLEDGE: CompiledQuery[Knowledge] = CompiledQuery(knowledge_in)


def knowledge_of(character: Character) -> QuerySet[Knowledge]:
    """Return the active entries of everybody in the character's registry, from all chats."""
    rows = Knowledge.objects.for_owner(character.owner_id).filter(subject__character=character, chat__deleted_at=None)
    has_not_ended = ~has_ended(Knowledge, all_endings(character.owner_id))
    return _ordered(rows.filter(has_not_ended, state=Knowledge.State.ACTIVE))


def _ordered(rows: QuerySet[Knowledge]) -> QuerySet[Knowledge]:
    return rows.select_related("subject", "target", "source__chat").order_by("subject__name", "kind", "pk")


def knowledge_matrix(entries: Iterable[Knowledge]) -> KnowledgeMatrix:
    """Arrange entries, ordered by subject, as a matrix."""
    entries = list(entries)
    occurring = {entry.kind for entry in entries}
    kinds: list[tuple[str, Words]] = [(kind, label) for kind, label in Knowledge.Kind.choices if kind in occurring]
    rows = []
    for subject, group in groupby(entries, key=lambda entry: entry.subject):
        known = list(group)
        cells = [(label, [entry for entry in known if entry.kind == kind]) for kind, label in kinds]
        rows.append((subject, cells))
    return KnowledgeMatrix([label for _, label in kinds], rows)
