"""Write relationships. A descriptor is never overwritten: its row ends where the next one begins."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext

from apps.chats.locking import lock_chat
from apps.chats.models import Character, Chat, Message
from apps.common.problems import Invalid
from apps.memories.candidates import Descriptor, RelationshipLine
from apps.memories.models import Ending, Entity, Relationship
from apps.memories.operations.endings import end_elsewhere
from apps.memories.operations.entities import get_or_create_entity
from apps.memories.operations.layer_entries import end_entry, is_before, newest_message, source_fields
from apps.memories.queries.endings import endings_seen_in, has_ended
from apps.memories.visibility import is_seen_in


@dataclass(frozen=True)
class _Pair:
    """Two people of a chat's registry, and how the one relates to the other."""

    chat: Chat
    subject: Entity
    target: Entity

    @property
    def rows(self) -> QuerySet[Relationship]:
        """Return the rows of the pair, without those of other branches of the same story."""
        rows: QuerySet[Relationship] = Relationship.objects.for_owner(self.chat.owner_id)
        return rows.filter(is_seen_in(self.chat), subject=self.subject, target=self.target)

    def current(self) -> list[Relationship]:
        ended = has_ended(Relationship, endings_seen_in(self.chat))
        rows = self.rows.filter(~ended, state=Relationship.State.CURRENT)
        return list(rows.select_related("source", "chat").order_by("pk"))


def write_relationships(
    chat: Chat, character: Character | None, lines: Iterable[tuple[RelationshipLine, Message]], run_id: UUID | None
) -> int:
    """Add and remove descriptors as the lines of a run say. Return how many changed.

    A line is skipped if its message set the descriptor before, or if a later message has changed the descriptor.
    """
    changed = 0
    for line, message in lines:
        subject = get_or_create_entity(chat, line.subject, Entity.Kind.CHARACTER, character)
        target = get_or_create_entity(chat, line.target, Entity.Kind.CHARACTER, character)
        if subject == target:
            continue
        pair = _Pair(chat, subject, target)
        current = {row.descriptor: row for row in pair.current()}
        for word in line.removed:
            if word in current and is_before(message, current[word].source) is False:
                _end(chat, current.pop(word), Relationship.State.REMOVED, message)
                changed += 1
        for descriptor in line.added:
            changed += _add(pair, current.get(descriptor.word), descriptor, message, run_id)
    return changed


def _end(chat: Chat, row: Relationship, state: str, message: Message) -> None:
    """End a row at a message of the chat: one of another story for those chats alone that see the chat."""
    if row.chat_id == chat.pk:
        end_entry(row, state, message)
    else:
        end_elsewhere(chat, row, state, message)


def _add(
    pair: _Pair, current: Relationship | None, descriptor: Descriptor, message: Message, run_id: UUID | None
) -> bool:
    """Add a descriptor, replacing its ``current`` row with another magnitude. Return whether it was added.

    If the row is of another chat and nothing tells which was said later, both stay current.
    """
    chat, magnitude = pair.chat, descriptor.magnitude
    before = is_before(message, current.source) if current else None
    if current is not None and (current.magnitude == magnitude or before):
        return False
    rows = pair.rows.filter(descriptor=descriptor.word)
    same = Q(source=message, magnitude=magnitude) & ~Q(state=Relationship.State.RETIRED)
    ended_later = Ending.objects.for_owner(chat.owner_id).filter(chat=chat, message__index__gt=message.index)
    is_ended_later = Q(until__chat=chat, until__index__gt=message.index) | Q(has_ended(Relationship, ended_later))
    if rows.filter(same | is_ended_later).exists():
        return False
    if current is not None and before is False:
        _end(chat, current, Relationship.State.REPLACED, message)
    # The chat's own row may be one that another story has ended.
    for own in rows.filter(chat=chat, state=Relationship.State.CURRENT):
        end_entry(own, Relationship.State.REPLACED, message)
    add_relationship(chat, pair.subject, pair.target, descriptor, source=message, run_id=run_id)
    return True


def add_relationship(
    chat: Chat | None,
    subject: Entity,
    target: Entity,
    descriptor: Descriptor,
    *,
    source: Message | None = None,
    **columns: Any,
) -> Relationship:
    """Create a row that begins at the message ``source``; without one, nothing tells where it began."""
    return Relationship.objects.create(
        owner_id=subject.owner_id,
        chat=chat,
        subject=subject,
        target=target,
        descriptor=descriptor.word,
        magnitude=descriptor.magnitude,
        **source_fields(source),
        **columns,
    )


@transaction.atomic
def set_relationship(
    chat: Chat, subject: str, target: str, word: str, magnitude: str | None, *, editor: str
) -> Relationship | None:
    """Set the magnitude of a descriptor by hand, or remove it if ``magnitude`` is None.

    Raise Invalid if subject and target are the same entity.
    """
    lock_chat(chat.owner_id, chat.pk)
    from_entity, to_entity = (get_or_create_entity(chat, name, Entity.Kind.CHARACTER) for name in (subject, target))
    if from_entity == to_entity:
        raise Invalid.at("/target", gettext("It must be somebody else."))
    pair, newest = _Pair(chat, from_entity, to_entity), newest_message(chat)
    state = Relationship.State.REPLACED if magnitude else Relationship.State.REMOVED
    for row in pair.current():
        if row.descriptor == word and row.chat_id != chat.pk:
            end_elsewhere(chat, row, state, newest, ended_by=editor)
    own = pair.rows.filter(chat=chat, descriptor=word, state=Relationship.State.CURRENT)
    own.update(state=state, until=newest, retired_by=editor, updated_at=timezone.now())
    if magnitude is None:
        return None
    descriptor = Descriptor(word, magnitude)
    return add_relationship(chat, from_entity, to_entity, descriptor, source=newest, edited_by=editor)
