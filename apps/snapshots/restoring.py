"""Put the rows of an archive in the place of an owner's.

In one transaction, ``identifiers`` gives rows of another account new ids, ``rows`` deletes and inserts, and
``references`` settles references to rows that are gone.
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import DataError, IntegrityError, connection, transaction
from django.db.models import QuerySet

from apps.accounts.models import User
from apps.chats.locking import record_change
from apps.chats.models import Chat, ChatChange
from apps.chats.signals import chat_list_changed
from apps.common import jobs
from apps.common.stored_texts import gettext_stored
from apps.extraction.jobs.embedding_jobs import on_embedding_changed
from apps.extraction.jobs.index_jobs import request_index_job
from apps.instances.operations.restored_clocks import SyncState, continue_clocks
from apps.memories.models import Passage
from apps.snapshots.archives import Archive, damaged
from apps.snapshots.identifiers import Renaming
from apps.snapshots.models import Snapshot
from apps.snapshots.references import settle_references
from apps.snapshots.rows import delete_rows, insert_rows
from apps.snapshots.signals import snapshot_restored
from apps.snapshots.storing import store_snapshot
from apps.snapshots.tables import SnapshotScope, Table
from apps.sync.models import SettingsDocument
from apps.sync.settings_documents import record_restored_settings
from apps.text.lexemes import Lexemes

Progress = Callable[[int], None]


def restore_archive(archive: Archive, owner_id: UUID, on_progress: Progress = lambda rows: None) -> Snapshot | None:
    """Put the rows of a checked archive in the place of an owner's, within a transaction. Raise DamagedArchive.

    Return a snapshot of what was replaced, if there was something. A chat that is there gets a new rev, so that its
    clients read it again; the clocks of instances go on. ``on_progress`` receives the number of rows inserted so far.
    """
    renaming = Renaming.of(archive, owner_id)
    chat_id = archive.manifest.chat
    scope = SnapshotScope(archive.manifest.kind, owner_id, renaming.new(chat_id) if chat_id else None)
    _lock(scope)
    before = {chat.pk: chat for chat in _chats(scope)} if scope.kind != Snapshot.Kind.SETTINGS else {}
    settings = SettingsDocument.objects.for_owner(owner_id).first()
    synced = SyncState.of(owner_id) if scope.kind == Snapshot.Kind.ACCOUNT else None
    safety = store_snapshot(scope, Snapshot.Reason.RESTORE) if before or not scope.chat_id else None
    try:
        with transaction.atomic():
            _replace(scope, archive, renaming, on_progress)
            if synced:
                continue_clocks(owner_id, synced)
    except (IntegrityError, DataError) as error:
        raise damaged(
            gettext_stored("The snapshot is damaged: its rows don't fit together. Nothing was changed.")
        ) from error
    if scope.kind != Snapshot.Kind.SETTINGS:
        _follow_up(scope, before)
    if scope.kind != Snapshot.Kind.CHAT and settings is not None:
        record_restored_settings(owner_id, settings.rev)
    snapshot_restored.send(sender=Snapshot, owner_id=owner_id)
    if scope.kind == Snapshot.Kind.ACCOUNT:
        User.objects.filter(pk=owner_id).update(**archive.manifest.profile)
    return safety


def _lock(scope: SnapshotScope) -> None:
    """Lock the chats of a scope, the owner and their settings until the transaction ends: no write gets in between.

    Chats come before their owner, as in all other writes, so that none waits for the other.
    """
    if scope.kind != Snapshot.Kind.SETTINGS:
        list(_chats(scope).select_for_update().order_by("pk").values_list("pk"))
    jobs.lock_owner(scope.owner_id)
    if scope.kind != Snapshot.Kind.SETTINGS:  # those that were created while this waited
        list(_chats(scope).select_for_update().order_by("pk").values_list("pk"))
    if scope.kind != Snapshot.Kind.CHAT:
        list(SettingsDocument.objects.for_owner(scope.owner_id).select_for_update())


def _replace(scope: SnapshotScope, archive: Archive, renaming: Renaming, on_progress: Progress) -> None:
    tables = {table.label: table for table in scope.tables}
    for table in reversed(tables.values()):
        if not table.is_kept and not table.is_updated_in_place:
            delete_rows(table.rows)
    done = 0
    for label, table in tables.items():
        ids = []
        for inserted in insert_rows(table, renaming.lines(archive.lines(label))):
            ids += inserted
            done += len(inserted)
            on_progress(done)
        if table.is_updated_in_place:
            delete_rows(table.rows.exclude(pk__in=ids))
    if scope.kind != Snapshot.Kind.SETTINGS:
        delete_rows(Passage.objects.for_owner(scope.owner_id).filter(chat__in=_chats(scope).values("pk")))
    settle_references(scope.owner_id)
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")


def _follow_up(scope: SnapshotScope, before: dict[UUID, Chat]) -> None:
    """Give the chats that were there a new rev, and have all of them indexed."""
    for chat in _chats(scope):
        if earlier := before.get(chat.pk):
            chat.rev = max(chat.rev, earlier.rev)
            record_change(chat, ChatChange.Kind.IMPORT)
        request_index_job(chat)
    _divide_again(scope)
    on_embedding_changed(scope.owner_id)
    chat_list_changed.send(sender=Chat, owner_id=scope.owner_id)


def _divide_again(scope: SnapshotScope) -> None:
    """Rewrite the lexemes of memories and journal entries: those of an older archive don't match the present search."""
    texts: dict[str, Callable[[Any], str]] = {
        "memories.Memory": lambda row: row.text,
        "memories.JournalEntry": lambda row: f"{row.title}\n{row.text}",
    }
    for table in scope.tables:
        if text := texts.get(table.label):
            for row in table.rows.exclude(lexemes=None).defer("embedding", "lexemes").iterator():
                table.rows.filter(pk=row.pk).update(lexemes=Lexemes(text(row)))


def _chats(scope: SnapshotScope) -> QuerySet[Chat]:
    """Return the chats of a scope, also those in the bin."""
    return Table("chats.Chat", scope).rows
