"""Write the state ledger. A value is never overwritten: its entry ends where the next one begins."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from apps.chats.locking import lock_chat
from apps.chats.models import Chat, Message
from apps.memories.candidates import StateLine
from apps.memories.models import Entity, LedgerEntry, RetiredReason
from apps.memories.operations.entities import get_or_create_entity
from apps.memories.operations.layer_entries import end_entry, is_before, newest_message, source_fields


def write_states(chat: Chat, lines: Iterable[tuple[StateLine, Message]], run_id: UUID | None) -> int:
    """Apply the state lines that a run extracted. Return how many fields changed."""
    changed = 0
    for line, message in lines:
        entity = get_or_create_entity(chat, line.name, line.type)
        for name, value in line.fields.items():
            changed += set_field(chat, entity, name, value, message, run_id=run_id)
        for name in line.cleared:
            changed += clear_field(chat, entity, name, message)
    return changed


def set_field(chat: Chat, entity: Entity, field: str, value: str, message: Message | None, **columns: Any) -> bool:
    """Set a field's value from ``message`` on. Return whether it changed.

    Nothing changes if the field has that value, or if a later message has set or cleared the field.
    """
    entries = _entries(chat, entity, field)
    current = entries.filter(state=LedgerEntry.State.CURRENT).select_related("source").first()
    if current is not None and current.value.casefold() == value.casefold():
        return False
    if message is not None and entries.filter(_outdated_by_filter(value, message)).exists():
        return False
    if current is not None:
        end_entry(current, LedgerEntry.State.REPLACED, message)
    LedgerEntry.objects.create(
        owner_id=chat.owner_id, chat=chat, entity=entity, field=field, value=value, **source_fields(message), **columns
    )
    return True


def _outdated_by_filter(value: str, message: Message) -> Q:
    """Return a filter for entries because of which ``value`` must not be set.

    Such an entry shows that ``message`` already set it before, or that a later message set or ended the field.
    """
    by_hand = Q(state=LedgerEntry.State.RETIRED, retired_reason=RetiredReason.BY_HAND)
    not_retired = ~Q(state=LedgerEntry.State.RETIRED)
    same = Q(source=message, value__iexact=value) & (not_retired | by_hand)
    later = Q(source__index__gt=message.index) & not_retired
    return same | later | Q(until__index__gt=message.index)


def clear_field(chat: Chat, entity: Entity, field: str, message: Message | None) -> bool:
    """End a field's current value at ``message``. Return False if it has none, or a later one."""
    current = _entries(chat, entity, field).filter(state=LedgerEntry.State.CURRENT).select_related("source").first()
    if current is None or is_before(message, current.source):
        return False
    end_entry(current, LedgerEntry.State.CLEARED, message)
    return True


def _entries(chat: Chat, entity: Entity, field: str) -> QuerySet[LedgerEntry]:
    return LedgerEntry.objects.for_owner(chat.owner_id).filter(chat=chat, entity=entity, field=field)


@transaction.atomic
def set_field_by_hand(chat: Chat, name: str, kind: str, field: str, value: str | None, *, editor: str) -> None:
    """Set a field by hand from the newest message on, or clear it if ``value`` is None."""
    lock_chat(chat.owner_id, chat.pk)
    entity = get_or_create_entity(chat, name, kind)
    newest = newest_message(chat)
    if value is None:
        clear_field(chat, entity, field, newest)
        # Also mark entries that a run cleared, so that they are not restored when the source message changes.
        cleared = _entries(chat, entity, field).filter(state=LedgerEntry.State.CLEARED)
        cleared.update(retired_by=editor)
    else:
        set_field(chat, entity, field, value, newest, edited_by=editor)
