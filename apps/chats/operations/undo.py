"""Undo a write to a chat, from the earlier state that the change log keeps."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.chats.locking import (
    Guard,
    IntegrityConflict,
    PatchConflict,
    find_repeated_change,
    fingerprint_of_write,
    lock_chat,
    messages_of_change,
    record_change,
)
from apps.chats.models import Chat, ChatChange, Message
from apps.chats.operations.details import changed_details, details_state, restore_details
from apps.chats.operations.message_states import save_states
from apps.chats.operations.messages import ordered_ids, save_order
from apps.chats.operations.metadata import metadata_change
from apps.chats.queries.changes import Changes, HistoryGone
from apps.chats.restorable_rows import restore_rows
from apps.chats.signals import change_undone
from apps.common.problems import Conflict, Invalid, ProblemType
from apps.common.scoping import Owner

UNDOABLE_KINDS = [
    ChatChange.Kind.APPEND,
    ChatChange.Kind.PATCH,
    ChatChange.Kind.METADATA,
    ChatChange.Kind.DETAILS,
]


class NothingToUndo(Conflict):
    type = ProblemType.NOTHING_TO_UNDO
    title = _("There is nothing to undo")


class UndoConflict(PatchConflict):
    """Later changes wrote what the undo would restore. The response lists them."""

    type = ProblemType.UNDO_CONFLICT
    title = _("It was changed again since")


@dataclass(frozen=True)
class UndoResult:
    """The result of an undo: ``change`` was undone by the change ``undo``, which restored ``messages``."""

    chat: Chat
    change: ChatChange
    undo: ChatChange
    messages: list[Message]


@transaction.atomic
def undo_change(owner: Owner, chat_id: UUID, guard: Guard, rev: int | None = None) -> UndoResult:
    """Undo the write with the given rev, or the last one of the chat if the writer of ``guard`` made it.

    A rev takes the place of the integrity: other writes may have followed if they changed neither the same messages
    or metadata keys nor an order that the undo restores. Without one, a second call undoes the write before, and an
    integrity is optional: with it, no other write may have followed. A repeated request that names a rev or an
    integrity returns the undo that it made. The undo is recorded as a separate change. Raise IntegrityConflict,
    NothingToUndo, UndoConflict, HistoryGone, Missing, and Invalid for a rev that the chat hasn't reached.
    """
    chat = lock_chat(owner, chat_id, guard)
    if rev is None:
        if repeated := _find_repeated_undo(chat, guard):
            return repeated
        if guard.is_stale(chat):
            raise IntegrityConflict.for_chat(chat, guard)
        change = _last_change(chat, guard)
    else:
        change = _change_at(chat, rev)
        if undo := chat.changes.filter(undoes=rev).first():
            return UndoResult(chat, change, undo, messages_of_change(chat, undo))
    since = _changes_in_effect_since(chat, change)
    _check_unchanged(chat, change, since)
    restored, reordered = _restore_messages(chat, change)
    restore_rows(chat, change.before.get("attachments", {}))
    restore_details(chat, change.before)
    metadata = _restore_metadata(chat, change)
    chat.last_active = timezone.now()
    undo = record_change(
        chat,
        ChatChange.Kind.UNDO,
        guard=guard,
        messages=restored,
        deleted_ids=_added_ids(change),
        reordered=reordered,
        undoes=change.rev,
        fingerprint=_fingerprint(guard) if rev is None else "",
        **metadata,
    )
    change_undone.send(sender=Chat, chat=chat)
    return UndoResult(chat, change, undo, restored)


def can_undo(chat: Chat, change: ChatChange) -> bool:
    """Return whether an undo of the change would succeed at this moment. It must be one of ``undoable_changes``."""
    try:
        _check_unchanged(chat, change, _changes_in_effect_since(chat, change))
    except UndoConflict:
        return False
    return not chat.changes.filter(undoes=change.rev).exists()


def _fingerprint(guard: Guard) -> str:
    return fingerprint_of_write(ChatChange.Kind.UNDO, guard)


def _find_repeated_undo(chat: Chat, guard: Guard) -> UndoResult | None:
    """Return the undo that this request repeats, or None. Raise HistoryGone."""
    undo = find_repeated_change(chat, guard, _fingerprint(guard))
    if undo is None or undo.undoes is None:
        return None
    change = _change_at(chat, undo.undoes)
    return UndoResult(chat, change, undo, messages_of_change(chat, undo))


def _last_change(chat: Chat, guard: Guard) -> ChatChange:
    """Return the last write that is not undone. Raise NothingToUndo, and UndoConflict if somebody else made it."""
    undoable = chat.changes.filter(kind__in=UNDOABLE_KINDS, before__isnull=False)
    undone = chat.changes.filter(undoes__isnull=False).values("undoes")
    change = undoable.exclude(rev__in=undone).order_by("-rev").first()
    if change is None:
        raise NothingToUndo(gettext("No earlier write to this chat can be undone."))
    if change.writer != guard.writer:
        detail = gettext("The last change to this chat was made by another program or device, or by Loci itself.")
        touched = {*change.message_ids, *change.deleted_ids}
        raise UndoConflict.for_messages(chat, Guard(_integrity_before(chat, change)), touched, detail)
    return change


def _integrity_before(chat: Chat, change: ChatChange) -> UUID | None:
    return chat.changes.filter(rev=change.rev - 1).values_list("integrity", flat=True).first()


def _change_at(chat: Chat, rev: int) -> ChatChange:
    """Return the write with a rev. Raise Invalid, HistoryGone, NothingToUndo."""
    if rev > chat.rev:
        raise Invalid.at("/rev", f"The chat is at rev {chat.rev}.")
    change = chat.changes.filter(rev=rev).first()
    if change is None:
        detail = gettext("This write is no longer in the change log.")
        raise HistoryGone(detail, current_integrity=str(chat.integrity), current_rev=chat.rev)
    if change.kind not in UNDOABLE_KINDS or change.before is None:
        raise NothingToUndo(gettext("This write can't be undone."))
    return change


def _changes_in_effect_since(chat: Chat, change: ChatChange) -> Changes:
    """Return the later changes, without those that were undone and their undos."""
    later = list(chat.changes.filter(rev__gt=change.rev).defer("before").order_by("rev"))
    undone = {entry.undoes for entry in later}
    return Changes(
        chat,
        [entry for entry in later if entry.rev not in undone and (entry.undoes is None or entry.undoes < change.rev)],
    )


def _check_unchanged(chat: Chat, change: ChatChange, since: Changes) -> None:
    """Raise UndoConflict if later changes wrote what the undo would restore."""
    known = Guard(change.integrity)
    contested = {*change.message_ids, *change.deleted_ids} & (since.message_ids | since.deleted_ids)
    if change.reordered and since.reordered:
        contested |= {UUID(state["id"]) for state in change.before.get("messages", ())}
    if contested:
        raise UndoConflict.for_messages(
            chat, known, contested, gettext("What this write changed was changed again since.")
        )
    if names := changed_details(chat, since.entries) & set(change.before.get("details", ())):
        raise UndoConflict.for_keys(chat, known, details_state(chat, sorted(names)))
    if keys := since.changed_keys(_restored_keys(chat, change)):
        theirs = {key: chat.metadata.get(key) for key in sorted(keys)}
        raise UndoConflict.for_keys(chat, known, theirs)


def _added_ids(change: ChatChange) -> list[UUID]:
    earlier_ids = {state["id"] for state in change.before.get("messages", ())}
    return [pk for pk in change.message_ids if str(pk) not in earlier_ids]


def _restore_messages(chat: Chat, change: ChatChange) -> tuple[list[Message], bool]:
    """Delete the messages that the change added, and restore those that it changed or deleted.

    Return the restored messages, and whether indexes of other messages changed.
    """
    states = sorted(change.before.get("messages", ()), key=lambda state: state["index"])
    added = set(_added_ids(change))
    current = ordered_ids(chat)
    order = [pk for pk in current if pk not in added]
    if change.reordered:
        index_before = {UUID(state["id"]): state["index"] for state in states}
        order = [pk for pk in order if pk not in index_before]
        for pk, index in index_before.items():
            order.insert(index, pk)
    index_of = {pk: index for index, pk in enumerate(order)}
    Message.objects.for_owner(chat.owner_id).filter(chat=chat, pk__in=added).delete()
    restored = save_states(chat, [state | {"index": index_of[UUID(state["id"])]} for state in states])
    save_order(chat, order)
    chat.message_count = len(order)
    return restored, any(before != after for before, after in zip(current, order, strict=False))


def _restored_keys(chat: Chat, change: ChatChange) -> Collection[str]:
    """Return the metadata keys that an undo of the change restores."""
    if change.metadata is None:
        return ()
    return {*change.before["metadata"], *chat.metadata} if change.metadata_replaced else change.metadata


def _restore_metadata(chat: Chat, change: ChatChange) -> dict[str, Any]:
    """Restore the metadata keys that the change modified. Return the columns of the log entry."""
    if "metadata" not in change.before:
        return {}
    before, current, keys = change.before["metadata"], chat.metadata, _restored_keys(chat, change)
    values = {key: value for key, value in current.items() if key not in keys}
    values |= {key: before[key] for key in keys if key in before}
    chat.metadata = {key: values[key] for key in (*before, *values) if key in values}  # keys in their earlier order
    chat.save(update_fields=["metadata"])
    return metadata_change(current, chat.metadata)
