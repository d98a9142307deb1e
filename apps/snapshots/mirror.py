"""A readable copy of each chat outside of the database, in a folder or a bucket that the configuration names.

Of each chat there are two files: the messages as SillyTavern's JSONL, and what is remembered as Markdown.
"""

import datetime as dt
from collections.abc import Iterator
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.core.files.base import ContentFile
from django.core.files.storage import Storage, storages
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from apps.chats.models import Character, Chat, Lorebook
from apps.common.database.restriction import restricted_to
from apps.common.scoping import system_scope
from apps.exchange.chats.exports import export_jsonl
from apps.exchange.memories.exporting import markdown_of
from apps.extraction.models import ExtractionRun
from apps.memories.kinds import KINDS, OF_CHARACTER
from apps.memories.models import Entity
from apps.memories.queries.memory_book import MemoryBook
from apps.prompts.models import Recall
from apps.snapshots.models import MirrorDeletion, MirroredChat

MIRROR = "mirror"  # of STORAGES
SETTLED = dt.timedelta(seconds=60)  # without a change
BATCH = 100  # chats of one sweep

log = structlog.get_logger(__name__)


def mirror_settled_chats(now: dt.datetime) -> int:
    """Write the chats that changed since they were last written, and not within SETTLED. Return how many were written.

    A chat that can't be written is logged, and tried again by the next sweep.
    """
    storage = mirror_storage()
    if storage is None:
        return 0
    written = 0
    with system_scope():
        chats = list(_changed_chats(now)[:BATCH])
    for chat in chats:
        try:
            with restricted_to(chat.owner_id):
                _write(storage, chat)
            written += 1
        except Exception:
            log.exception("chat_not_mirrored", chat=str(chat.pk))
    return written


def remove_from_mirror(chat: Chat, **kwargs: Any) -> None:
    """Receive ``chat_purged``: have the copy deleted by the next sweep."""
    if mirror_storage():
        MirrorDeletion.objects.bulk_create(
            [MirrorDeletion(name=name) for name in file_names(chat)], ignore_conflicts=True
        )


def remove_account_from_mirror(owner_id: UUID, **kwargs: Any) -> None:
    """Receive ``account_deleting``: have the copies of the account's chats deleted by the next sweep."""
    if mirror_storage():
        for chat in Chat._base_manager.filter(owner_id=owner_id).order_by("pk"):
            remove_from_mirror(chat)


def delete_purged_chats() -> None:
    """Delete the files of chats that were deleted for good. Where that fails, the next sweep tries again."""
    storage = mirror_storage()
    if storage is None:
        return
    for row in MirrorDeletion.objects.order_by("pk")[:BATCH]:
        try:
            storage.delete(row.name)
            row.delete()
        except Exception:
            log.exception("file_not_deleted_from_mirror", name=row.name)


def mirror_storage() -> Storage | None:
    """Return the storage of the mirror, or None if there is none."""
    return storages[MIRROR] if MIRROR in storages.backends else None


def file_names(chat: Chat) -> list[str]:
    """Return the names of a chat's files in the mirror."""
    return [name for name, _ in _files(chat)]


def _changed_chats(now: dt.datetime) -> QuerySet[Chat]:
    changed = Q(mirrored=None) | Q(updated_at__gt=F("mirrored__at"))
    for rows in _contents():
        changed |= Q(Exists(rows))
    rows = Chat.objects.filter(changed, updated_at__lt=now - SETTLED).select_related("character")
    return rows.order_by(F("mirrored__at").asc(nulls_first=True), "pk")


def _contents() -> Iterator[QuerySet[Any]]:
    """Yield the rows, by table, that the files of a chat show and that changed since they were written."""
    since = OuterRef("mirrored__at")
    shown: tuple[type[Any], ...] = (*KINDS, Entity, Recall)
    told_in_all_chats: tuple[type[Any], ...] = (*OF_CHARACTER, Entity)  # of the same character
    for model in shown:
        yield model._base_manager.filter(owner=OuterRef("owner"), chat=OuterRef("pk"), updated_at__gt=since)
    for model in told_in_all_chats:
        of_character = {"owner": OuterRef("owner"), "character": OuterRef("character")}
        yield model._base_manager.filter(**of_character, updated_at__gt=since)
    yield ExtractionRun._base_manager.filter(chat=OuterRef("pk"), finished_at__gt=since)
    yield Character._base_manager.filter(pk=OuterRef("character"), updated_at__gt=since)
    yield Lorebook._base_manager.filter(chat=OuterRef("pk"), updated_at__gt=since)


def _write(storage: Storage, chat: Chat) -> None:
    began = timezone.now()  # what is written meanwhile is a change since
    for name, content in _files(chat):
        storage.save(name, ContentFile(b"".join(content())))
        MirrorDeletion.objects.filter(name=name).delete()  # it was purged, and restored from a snapshot
    MirroredChat.objects.for_owner(chat.owner_id).update_or_create(
        chat=chat, defaults={"at": began}, create_defaults={"owner_id": chat.owner_id, "at": began}
    )


def _files(chat: Chat) -> Iterator[tuple[str, Any]]:
    """Return the names of a chat's files, each with a function that returns its content in parts."""
    name = f"{chat.owner_id}/{chat.pk}"
    yield f"{name}.jsonl", partial(export_jsonl, chat)
    yield f"{name}.md", lambda: [markdown_of(MemoryBook(chat.owner_id, chat, chat.character))]
