"""Put chats into the bin, take them out again, and delete them for good."""

import datetime as dt
from uuid import UUID

from django.db import transaction
from django.utils import timezone

from apps.chats.locking import lock_chat
from apps.chats.models import Chat
from apps.chats.signals import chat_deleted, chat_list_changed, chat_purged, chat_restored
from apps.common.jobs import lock_owner
from apps.common.problems import Missing
from apps.common.scoping import Owner, system_scope

BIN_PERIOD = dt.timedelta(days=30)  # time in the bin after which a chat is deleted for good


@transaction.atomic
def delete_chat(chat: Chat, *, keep_memories: bool = False) -> None:
    """Put a chat into the bin. Its branches stay. Raise Missing if it is in the bin already.

    Memories that come from it alone are put there too; with ``keep_memories``, not what its character learnt.
    """
    locked = lock_chat(chat.owner_id, chat.pk)
    lock_owner(chat.owner_id)  # two chats that remember the same are not deleted or restored at the same time
    _move_to_bin(locked, keep_memories)


def _move_to_bin(chat: Chat, keep_memories: bool) -> None:
    chat.deleted_at, chat.keeps_memories = timezone.now(), keep_memories
    chat.save(update_fields=["deleted_at", "keeps_memories"])
    chat_deleted.send(sender=Chat, chat=chat)
    chat_list_changed.send(sender=Chat, owner_id=chat.owner_id)


@transaction.atomic
def restore_chat(owner: Owner, chat_id: UUID) -> Chat:
    """Take a chat out of the bin, with what was remembered in it. Raise Missing if it isn't there."""
    chat = _lock_in_bin(owner, chat_id)
    chat.deleted_at, chat.keeps_memories = None, False
    chat.save(update_fields=["deleted_at", "keeps_memories", "updated_at"])
    chat_restored.send(sender=Chat, chat=chat)
    chat_list_changed.send(sender=Chat, owner_id=chat.owner_id)
    return chat


@transaction.atomic
def purge_chat(owner: Owner, chat_id: UUID, *, keep_memories: bool | None = None) -> None:
    """Delete a chat for good, from the bin or not, with its change log and its files. Raise Missing.

    ``keep_memories`` is as for ``delete_chat``; None means the choice made when the chat was put into the bin.
    """
    in_bin = Chat.in_bin.for_owner(owner).filter(pk=chat_id).exists()
    chat = _lock_in_bin(owner, chat_id) if in_bin else lock_chat(owner, chat_id)
    lock_owner(chat.owner_id)
    if not in_bin or keep_memories is not None:
        _move_to_bin(chat, bool(keep_memories))
    chat_purged.send(sender=Chat, chat=chat)
    chat.delete()


def _lock_in_bin(owner: Owner, chat_id: UUID) -> Chat:
    """Return a chat in the bin and lock its row and its owner's. Raise Missing."""
    chat: Chat | None = Chat.in_bin.for_owner(owner).select_for_update().filter(pk=chat_id).first()
    if chat is None:
        raise Missing("There is no such chat in the bin.")
    lock_owner(owner)
    return chat


def purge_old_chats(now: dt.datetime) -> int:
    """Delete chats for good that were put into the bin more than BIN_PERIOD ago. Return how many."""
    with system_scope():
        old = list(Chat.in_bin.filter(deleted_at__lt=now - BIN_PERIOD).values_list("owner_id", "pk"))
    for owner_id, chat_id in old:
        purge_chat(owner_id, chat_id)
    return len(old)
