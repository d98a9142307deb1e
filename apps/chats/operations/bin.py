"""Put chats into the bin, take them out again, and delete them for good."""

import datetime as dt
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext

from apps.chats.locking import lock_chat
from apps.chats.models import Character, Chat
from apps.chats.signals import chat_deleted, chat_erased, chat_list_changed, chat_purged, chat_restored
from apps.common.database.restriction import restricted_to
from apps.common.database.rows import first_or_missing
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
    _lock_memories(locked)
    _move_to_bin(locked, keep_memories)


def _move_to_bin(chat: Chat, keep_memories: bool) -> None:
    chat.deleted_at, chat.keeps_memories = timezone.now(), keep_memories
    chat.save(update_fields=["deleted_at", "keeps_memories"])
    chat_deleted.send(sender=Chat, chat=chat)
    chat_list_changed.send(sender=Chat, owner_id=chat.owner_id)


@transaction.atomic
def restore_chat(owner: Owner, chat_id: UUID) -> Chat:
    """Take a chat out of the bin, with what was remembered in it. Raise Missing if it isn't there."""
    chat = _lock_in_bin(owner, pk=chat_id)
    chat.deleted_at, chat.keeps_memories = None, False
    chat.save(update_fields=["deleted_at", "keeps_memories", "updated_at"])
    chat_restored.send(sender=Chat, chat=chat)
    chat_list_changed.send(sender=Chat, owner_id=chat.owner_id)
    return chat


@transaction.atomic
def purge_chat(owner: Owner, chat_id: UUID, *, keep_memories: bool | None = None, with_namespace: bool = False) -> None:
    """Delete a chat for good, from the bin or not, with its change log and its files. Raise Missing.

    ``keep_memories`` is as for ``delete_chat``; None means the choice made when the chat was put into the bin. With
    ``with_namespace`` all of its namespace is erased, and ``chat_erased`` is left to ``namespace_erased``.
    """
    in_bin = Chat.in_bin.for_owner(owner).filter(pk=chat_id).exists()
    if in_bin:
        chat = _lock_in_bin(owner, pk=chat_id)
    else:
        chat = lock_chat(owner, chat_id)
        _lock_memories(chat)
    if not in_bin or keep_memories is not None:
        _move_to_bin(chat, bool(keep_memories))
    _purge(chat, with_namespace)


def _purge(chat: Chat, with_namespace: bool = False) -> None:
    chat_purged.send(sender=Chat, chat=chat)
    chat.delete()
    # A reply that is still stored may hold its texts, unless the chat was in the bin before that was made.
    kept_since = timezone.now() - dt.timedelta(hours=settings.IDEMPOTENCY_HOURS)
    if with_namespace or (chat.deleted_at and chat.deleted_at < kept_since):
        return
    # Last, so that a write which held the chat or a row of it has ended, and what it stored is seen.
    chat_erased.send(sender=Chat, owner_id=chat.owner_id, namespace=chat.namespace)


def _lock_in_bin(owner: Owner, **conditions: Any) -> Chat:
    """Return the chat in the bin that meets the conditions, locked with what it remembers. Raise Missing."""
    chat: Chat = first_or_missing(
        Chat.in_bin.for_owner(owner).select_for_update().filter(**conditions),
        gettext("There is no such chat in the bin."),
    )
    _lock_memories(chat)
    return chat


def _lock_memories(chat: Chat) -> None:
    """Lock what guards the memories that a locked chat shares with others: its owner's row and its characters'.

    Two chats that remember the same are then not deleted or restored at the same time, nor while a run writes to them.
    """
    lock_owner(chat.owner_id)
    characters = Character.objects.for_owner(chat.owner_id).filter(
        Q(pk=chat.character_id) | Q(pk__in=chat.participants.values("character"))
    )
    list(characters.order_by("pk").select_for_update().values_list("pk"))


def purge_old_chats(now: dt.datetime) -> int:
    """Delete chats for good that were put into the bin more than BIN_PERIOD ago. Return how many."""
    is_old = {"deleted_at__lt": now - BIN_PERIOD}
    with system_scope():
        old = list(Chat.in_bin.filter(**is_old).values_list("owner_id", "pk"))
    purged = 0
    for owner_id, chat_id in old:
        # It may have been restored, and even deleted again, in the meantime.
        with restricted_to(owner_id), suppress(Missing), transaction.atomic():
            _purge(_lock_in_bin(owner_id, pk=chat_id, **is_old))
            purged += 1
    return purged
