"""Undoes the last write to a chat, from what the log kept of the state before it."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from apps.chats.images import message_of, swipes_of
from apps.chats.integrity import Guard, IntegrityConflict
from apps.chats.models import Chat, ChatChange, Message, Swipe
from apps.chats.operations.door import lock_chat, messages_left_of, record_change, write_after
from apps.chats.operations.storing import order_of, place
from apps.common import clock, merge_patch
from apps.common.problems import Conflict

UNDOABLE = [ChatChange.Kind.APPEND, ChatChange.Kind.PATCH, ChatChange.Kind.METADATA]
FINGERPRINT = "undo"


class NothingToUndo(Conflict):
    type = "/problems/nothing-to-undo"
    title = "There is nothing to undo"

    def __init__(self) -> None:
        super().__init__("No earlier write to this chat can be taken back.")


@dataclass(frozen=True)
class Undone:
    """``change`` is what was undone, ``undo`` the write that did it."""

    chat: Chat
    change: ChatChange
    undo: ChatChange
    messages: list[Message]


@transaction.atomic
def undo_last_change(owner: Any, chat_id: UUID, guard: Guard) -> Undone:
    """Take back the last write that isn't undone yet: called again, the one before it.

    The undo is a write of its own in the log. Raises IntegrityRequired, IntegrityConflict, NothingToUndo, Missing.
    """
    guard.check()
    chat = lock_chat(owner, chat_id)
    if guard.is_stale(chat):
        return _undone_before(chat, guard)
    change = chat.changes.filter(kind__in=UNDOABLE, undone=False, before__isnull=False).order_by("-rev").first()
    if change is None:
        raise NothingToUndo
    restored = _bring_back_messages(chat, change)
    metadata = _bring_back_metadata(chat, change)
    change.undone = True
    change.save(update_fields=["undone"])
    chat.last_active = clock.now()
    added = _added_by(change)
    undo = record_change(
        chat,
        ChatChange.Kind.UNDO,
        messages=restored,
        deleted_ids=added,
        reordered=change.reordered,
        # What it undid, so that the retry of an undo can tell.
        before={"rev": change.rev},
        fingerprint=FINGERPRINT,
        forced=guard.force,
        **metadata,
    )
    return Undone(chat, change, undo, restored)


def _undone_before(chat: Chat, guard: Guard) -> Undone:
    """The undo that this one repeats, since its reply was lost. Raises IntegrityConflict where there is none."""
    undo = write_after(chat, guard, FINGERPRINT)
    if undo is None:
        raise IntegrityConflict.over(chat, guard)
    change = chat.changes.get(rev=undo.before["rev"])
    return Undone(chat, change, undo, messages_left_of(chat, undo))


def _added_by(change: ChatChange) -> list[UUID]:
    known = {image["id"] for image in change.before.get("messages", ())}
    return [pk for pk in change.message_ids if str(pk) not in known]


def _bring_back_messages(chat: Chat, change: ChatChange) -> list[Message]:
    """Take away what the change added, and store what it changed or deleted as it was."""
    images = sorted(change.before.get("messages", ()), key=lambda image: image["index"])
    order = order_of(chat)
    _delete_messages(chat, _added_by(change))
    restored = _restore(chat, images)
    gone = {*change.message_ids, *change.deleted_ids}
    order = [pk for pk in order if pk not in gone]
    for message in restored:
        order.insert(message.index, message.pk)
    place(chat, order)
    chat.message_count = len(order)
    return restored


def _delete_messages(chat: Chat, ids: list[UUID]) -> None:
    Message.objects.for_owner(chat.owner_id).filter(chat=chat, pk__in=ids).delete()


def _restore(chat: Chat, images: list[dict[str, Any]]) -> list[Message]:
    """The rows of images, stored over what is there; each at a rev that it never had."""
    participants = set(chat.participants.values_list("pk", flat=True))
    messages = [message_of(image, chat, participants) for image in images]
    revs = dict(chat.messages.filter(pk__in=[message.pk for message in messages]).values_list("pk", "rev"))
    for message in messages:
        message.rev = max(message.rev, revs.get(message.pk, 0)) + 1
        message.updated_at = clock.now()
        message.save(force_insert=message.pk not in revs, force_update=message.pk in revs)
    for message, image in zip(messages, images, strict=True):
        _restore_swipes(message, image)
    return messages


def _restore_swipes(message: Message, image: dict[str, Any]) -> None:
    swipes = swipes_of(image, message)
    Swipe.objects.for_owner(message.owner_id).filter(message=message).exclude(
        pk__in=[swipe.pk for swipe in swipes]
    ).delete()
    Swipe.objects.bulk_create(
        swipes,
        update_conflicts=True,
        unique_fields=["id"],
        update_fields=["position", "mes", "extra", "info"],
    )


def _bring_back_metadata(chat: Chat, change: ChatChange) -> dict[str, Any]:
    """Store the metadata as they were before; what the log says of it."""
    if "metadata" not in change.before:
        return {}
    before = change.before["metadata"]
    line = metadata_line(chat.metadata, before)
    chat.metadata = before
    chat.save(update_fields=["metadata"])
    return line


def metadata_line(old: dict[str, Any], new: dict[str, Any]) -> dict[str, Any]:
    """What a line of the log says of a change of metadata: a merge patch where one can say it, else all of it."""
    patch = merge_patch.diff(old, new)
    return {"metadata": new, "metadata_replaced": True} if patch is None else {"metadata": patch}
