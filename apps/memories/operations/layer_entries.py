"""Correct, retire, restore and end entries of any layer."""

import hashlib
from typing import Any, TypeVar

from django.utils import timezone
from django.utils.translation import gettext

from apps.chats.models import Chat, Message
from apps.common.problems import Conflict
from apps.memories.models import RETIRED, LayerEntry, LedgerEntry, Relationship, RetiredReason

Entry = TypeVar("Entry", bound=LayerEntry)


def edit_entry(entry: Entry, *, editor: str, **changes: Any) -> Entry:
    """Set fields of an entry as a person's correction, and increment the version."""
    if changes.get("state", RETIRED) != RETIRED:
        # The entry may have been retired in another tab. Check constraints allow these fields only on retired entries.
        changes = {"state_before": "", "retired_reason": "", "retired_by": "", **changes}
    for name, value in changes.items():
        setattr(entry, name, value)
    entry.edited_by = editor
    entry.version += 1
    entry.save(update_fields=[*changes, "edited_by", "version", "updated_at"])
    return entry


def retire_entry(entry: Entry, *, editor: str) -> Entry:
    """Retire an entry by hand. ``restore_entry`` brings it back."""
    state = entry.state  # type: ignore[attr-defined]
    if state == RETIRED:
        return entry
    return edit_entry(
        entry,
        editor=editor,
        state=RETIRED,
        state_before=state,
        retired_reason=RetiredReason.BY_HAND,
        retired_by=editor,
    )


def restore_entry(entry: Entry, *, editor: str) -> Entry:
    """Undo ``retire_entry``. Raise Conflict if another entry has become current in its place."""
    if entry.state != RETIRED:  # type: ignore[attr-defined]
        return entry
    replaced = entry.state_before == entry.life.holds and has_current_counterpart(entry)
    if entry.retired_reason != RetiredReason.BY_HAND or replaced:
        raise Conflict(gettext("Another entry has replaced it since."))
    return edit_entry(entry, editor=editor, state=entry.state_before, state_before="", retired_reason="", retired_by="")


def has_current_counterpart(entry: LayerEntry) -> bool:
    """Return whether another entry of the chat holds in the same slot, such as a field of the ledger."""
    life = entry.life
    same = {name: getattr(entry, name) for name in ("chat_id", *life.slot)} | {"state": life.holds}
    rows = type(entry).objects.for_owner(entry.owner_id).filter(**same)
    return bool(life.slot) and rows.exclude(pk=entry.pk).exists()


def end_entry(entry: LedgerEntry | Relationship, state: str, message: Message | None) -> None:
    """Give an entry its final state, ending at ``message``, unless a person has retired it in the meantime."""
    entry.state, entry.until = state, message
    entry.until_swipe = message.active_swipe if message else None
    rows = type(entry).objects.for_owner(entry.owner_id).filter(pk=entry.pk).exclude(state=RETIRED)
    rows.update(state=state, until=message, until_swipe=entry.until_swipe, updated_at=timezone.now())


def source_fields(message: Message | None) -> dict[str, Any]:
    """Return the fields of an entry that begins at ``message``."""
    return {"source": message, "swipe": message.active_swipe} if message else {}


def until_fields(message: Message) -> dict[str, Any]:
    """Return the fields of an update that ends entries at ``message``."""
    return {"until": message, "until_swipe": message.active_swipe, "updated_at": timezone.now()}


def is_before(message: Message | None, other: Message | None) -> bool | None:
    """Return whether ``message`` was said before ``other``, or None if the times of two chats don't tell.

    False if one of them is None.
    """
    if message is None or other is None:
        return False
    if message.chat_id == other.chat_id:
        return message.index < other.index
    if message.sent_at is None or other.sent_at is None or message.sent_at == other.sent_at:
        return None
    return message.sent_at < other.sent_at


def newest_message(chat: Chat) -> Message | None:
    """Return the last message of a chat, with its swipes."""
    message: Message | None = (
        Message.objects.for_owner(chat.owner_id).filter(chat=chat).with_swipes().order_by("-index").first()
    )
    return message


def line_hash(*parts: object) -> str:
    """Return a hash that identifies a parsed line, so that a run writes it once."""
    return hashlib.sha256("\n".join(map(str, parts)).encode()).hexdigest()
