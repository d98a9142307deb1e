"""Undo the last write to a chat, from the earlier state that the change log keeps."""

import datetime as dt
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.chats.dates import parse_date
from apps.chats.locking import (
    Guard,
    IntegrityConflict,
    find_repeated_change,
    lock_chat,
    messages_of_change,
    record_change,
)
from apps.chats.message_data.namespaces import ends_scene, is_left_out
from apps.chats.models import Chat, ChatChange, Message, Swipe
from apps.chats.operations.metadata import metadata_change
from apps.chats.operations.rows import ordered_ids, save_order
from apps.common.problems import Conflict, ProblemType
from apps.common.scoping import Owner

UNDOABLE_KINDS = [ChatChange.Kind.APPEND, ChatChange.Kind.PATCH, ChatChange.Kind.METADATA]
FINGERPRINT = "undo"


class NothingToUndo(Conflict):
    type = ProblemType.NOTHING_TO_UNDO
    title = "There is nothing to undo"

    def __init__(self) -> None:
        super().__init__("No earlier write to this chat can be undone.")


@dataclass(frozen=True)
class UndoResult:
    """The result of an undo: ``change`` was undone by the change ``undo``, which restored ``messages``."""

    chat: Chat
    change: ChatChange
    undo: ChatChange
    messages: list[Message]


@transaction.atomic
def undo_last_change(owner: Owner, chat_id: UUID, guard: Guard) -> UndoResult:
    """Undo the last write that is not undone yet. A second call undoes the write before it.

    The undo is recorded as a separate change. Raise IntegrityRequired, IntegrityConflict, NothingToUndo, Missing.
    """
    chat = lock_chat(owner, chat_id, guard)
    guard.require_integrity()
    if guard.is_stale(chat):
        return _find_repeated_undo(chat, guard)
    change = chat.changes.filter(kind__in=UNDOABLE_KINDS, undone=False, before__isnull=False).order_by("-rev").first()
    if change is None:
        raise NothingToUndo
    restored = _restore_messages(chat, change)
    metadata = _restore_metadata(chat, change)
    change.undone = True
    change.save(update_fields=["undone"])
    chat.last_active = timezone.now()
    undo = record_change(
        chat,
        ChatChange.Kind.UNDO,
        messages=restored,
        deleted_ids=_added_ids(change),
        reordered=change.reordered,
        # The rev that was undone, from which a retry finds the change.
        before={"rev": change.rev},
        fingerprint=FINGERPRINT,
        forced=guard.force,
        **metadata,
    )
    return UndoResult(chat, change, undo, restored)


def _find_repeated_undo(chat: Chat, guard: Guard) -> UndoResult:
    """Return the undo that this request repeats. Raise IntegrityConflict if there is none."""
    undo = find_repeated_change(chat, guard, FINGERPRINT)
    if undo is None:
        raise IntegrityConflict.for_chat(chat, guard)
    change = chat.changes.get(rev=undo.before["rev"])
    return UndoResult(chat, change, undo, messages_of_change(chat, undo))


def _added_ids(change: ChatChange) -> list[UUID]:
    earlier_ids = {state["id"] for state in change.before.get("messages", ())}
    return [pk for pk in change.message_ids if str(pk) not in earlier_ids]


def _restore_messages(chat: Chat, change: ChatChange) -> list[Message]:
    """Delete the messages that the change added, and restore those that it changed or deleted."""
    states = sorted(change.before.get("messages", ()), key=lambda state: state["index"])
    order = ordered_ids(chat)
    Message.objects.for_owner(chat.owner_id).filter(chat=chat, pk__in=_added_ids(change)).delete()
    restored = _save_states(chat, states)
    changed_ids = {*change.message_ids, *change.deleted_ids}
    order = [pk for pk in order if pk not in changed_ids]
    for message in restored:
        order.insert(message.index, message.pk)
    save_order(chat, order)
    chat.message_count = len(order)
    return restored


def _save_states(chat: Chat, states: list[dict[str, Any]]) -> list[Message]:
    """Save messages over the current ones. Each gets a new rev, so that patches for an earlier rev fail."""
    participants = set(chat.participants.values_list("pk", flat=True))
    messages = [_message_of(state, chat, participants) for state in states]
    revs = dict(chat.messages.filter(pk__in=[message.pk for message in messages]).values_list("pk", "rev"))
    for message, state in zip(messages, states, strict=True):
        message.rev = max(message.rev, revs.get(message.pk, 0)) + 1
        message.updated_at = timezone.now()
        message.save(force_insert=message.pk not in revs, force_update=message.pk in revs)
        _save_swipes(message, state)
    return messages


def _save_swipes(message: Message, state: dict[str, Any]) -> None:
    swipes = _swipes_of(state, message)
    kept = [swipe.pk for swipe in swipes]
    Swipe.objects.for_owner(message.owner_id).filter(message=message).exclude(pk__in=kept).delete()
    Swipe.objects.bulk_create(
        swipes, update_conflicts=True, unique_fields=["id"], update_fields=["position", "mes", "extra", "info"]
    )


def _message_of(state: dict[str, Any], chat: Chat, participants: set[UUID]) -> Message:
    """Return the row for a ``patching.message_state``, without its participant if that has left the chat."""
    participant = UUID(state["participant"]) if state["participant"] else None
    active = state["swipes"][state["swipe_id"]]
    return Message(
        id=UUID(state["id"]),
        owner_id=chat.owner_id,
        chat=chat,
        index=state["index"],
        rev=state["rev"],
        name=state["name"],
        participant_id=participant if participant in participants else None,
        is_user=state["is_user"],
        is_system=state["is_system"],
        send_date=state["send_date"],
        sent_at=parse_date(state["send_date"]),
        swipe_id=state["swipe_id"],
        ends_scene=ends_scene(active["extra"]),
        left_out=is_left_out(active["extra"]),
        layout=state["layout"],
        created_at=dt.datetime.fromisoformat(state["created_at"]),
    )


def _swipes_of(state: dict[str, Any], message: Message) -> list[Swipe]:
    return [
        Swipe(
            id=UUID(swipe["id"]),
            owner_id=message.owner_id,
            message=message,
            position=position,
            mes=swipe["mes"],
            extra=swipe["extra"],
            info=swipe["info"],
            created_at=dt.datetime.fromisoformat(swipe["created_at"]),
        )
        for position, swipe in enumerate(state["swipes"])
    ]


def _restore_metadata(chat: Chat, change: ChatChange) -> dict[str, Any]:
    """Restore the metadata if the change modified it. Return the columns of the log entry."""
    if "metadata" not in change.before:
        return {}
    before = change.before["metadata"]
    columns = metadata_change(chat.metadata, before)
    chat.metadata = before
    chat.save(update_fields=["metadata"])
    return columns
