"""Pin, archive and tag chats, put them into folders, name their model, and apply one action to several of them.

None of this is a write to a chat: it changes no integrity and stands in no change log.
"""

from collections.abc import Collection
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F, Func, Q, Value

from apps.chats.locking import NO_INTEGRITY, Guard, lock_chat
from apps.chats.models import MAX_TAGS, Chat
from apps.chats.operations.bin import delete_chat, restore_chat
from apps.chats.operations.details import check_details_rebase
from apps.chats.signals import chat_list_changed
from apps.common.problems import Missing
from apps.common.scoping import Owner, owner_id_of


class ChatAction(StrEnum):
    PIN = "pin"
    UNPIN = "unpin"
    ARCHIVE = "archive"
    UNARCHIVE = "unarchive"
    TAG = "tag"
    UNTAG = "untag"
    MOVE = "move"
    DELETE = "delete"
    RESTORE = "restore"


_OPPOSITES = [
    (ChatAction.PIN, ChatAction.UNPIN),
    (ChatAction.ARCHIVE, ChatAction.UNARCHIVE),
    (ChatAction.TAG, ChatAction.UNTAG),
    (ChatAction.DELETE, ChatAction.RESTORE),
]
# The action that undoes another one.
INVERSE = dict(_OPPOSITES) | {second: first for first, second in _OPPOSITES} | {ChatAction.MOVE: ChatAction.MOVE}


@transaction.atomic
def organize_chat(chat: Chat, *, guard: Guard = NO_INTEGRITY, **fields: Any) -> Chat:
    """Set ``folder``, ``tags``, ``pinned``, ``archived`` and ``connection`` of a chat, and return it.

    This is no write to the chat: its integrity stays. With the integrity of an older state, only values that are in
    effect already are accepted, or a rebase. Raise Missing, IntegrityConflict.
    """
    if guard.integrity is not None and not guard.force:
        chat = lock_chat(chat.owner_id, chat.pk)
        changed = {name for name, value in fields.items() if getattr(chat, name) != value}
        if changed and guard.is_stale(chat):
            check_details_rebase(chat, changed, guard)
    for name, value in fields.items():
        setattr(chat, name, value)
    chat.save(update_fields=list(fields))
    chat_list_changed.send(sender=Chat, owner_id=chat.owner_id)
    return chat


def organize_chats(owner: Owner, chat_ids: Collection[UUID], action: ChatAction, tag: str = "") -> list[UUID]:
    """Apply an action to chats of the owner. Return the ids of the chats that it changed.

    ``tag`` is added or removed; of a move it is the folder, empty for none. The inverse action, on the ids returned,
    undoes it; that of a move needs the folders of before, which ``folders_of`` returns. Ids of other chats are ignored,
    and chats with MAX_TAGS tags get no further one.
    """
    match action:
        case ChatAction.PIN | ChatAction.UNPIN:
            pinned = action == ChatAction.PIN
            return _update(owner, chat_ids, Q(pinned=not pinned), pinned=pinned)
        case ChatAction.ARCHIVE | ChatAction.UNARCHIVE:
            archived = action == ChatAction.ARCHIVE
            return _update(owner, chat_ids, Q(archived=not archived), archived=archived)
        case ChatAction.TAG:
            untagged = ~Q(tags__contains=[tag]) & Q(tags__len__lt=MAX_TAGS)
            return _update(owner, chat_ids, untagged, tags=Func(F("tags"), Value(tag), function="array_append"))
        case ChatAction.UNTAG:
            tagged = Q(tags__contains=[tag])
            return _update(owner, chat_ids, tagged, tags=Func(F("tags"), Value(tag), function="array_remove"))
        case ChatAction.MOVE:
            return _update(owner, chat_ids, ~Q(folder=tag), folder=tag)
        case ChatAction.DELETE | ChatAction.RESTORE:
            return [chat_id for chat_id in chat_ids if _move(owner, chat_id, action)]


def folders_of(owner: Owner, chat_ids: Collection[UUID]) -> dict[UUID, str]:
    """Return the folder of each of these chats of the owner."""
    return dict(Chat.objects.for_owner(owner).filter(pk__in=chat_ids).values_list("pk", "folder"))


@transaction.atomic
def _update(owner: Owner, chat_ids: Collection[UUID], condition: Q, **values: Any) -> list[UUID]:
    """Update the chats that meet a condition. Return their ids."""
    chats = Chat.objects.for_owner(owner)
    locked = chats.filter(condition, pk__in=chat_ids).order_by("pk").select_for_update()  # in one order: no deadlocks
    changed = list(locked.values_list("pk", flat=True))
    chats.filter(pk__in=changed).update(**values)
    if changed:
        chat_list_changed.send(sender=Chat, owner_id=owner_id_of(owner))
    return changed


def _move(owner: Owner, chat_id: UUID, action: ChatAction) -> bool:
    """Put a chat into the bin or take it out, in a transaction of its own. Return False if it is not there to move."""
    try:
        if action == ChatAction.RESTORE:
            restore_chat(owner, chat_id)
        else:
            delete_chat(Chat(pk=chat_id, owner_id=owner_id_of(owner)))
    except Missing:
        return False
    return True
