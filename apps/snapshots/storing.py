"""Store the archives of snapshots, and delete old ones with their files."""

import datetime as dt
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, BinaryIO, cast

from django.core.files import File
from django.db import models, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from apps.common.jobs import OPEN_STATES
from apps.common.scoping import system_scope
from apps.snapshots.archives import Manifest
from apps.snapshots.models import Restore, Snapshot
from apps.snapshots.tables import SnapshotScope
from apps.snapshots.writing import write_archive

MAX_IN_MEMORY = 4 * 2**20  # bytes of an archive that is being written
KEPT = 10  # newest snapshots, with each of the reasons below, of an account, a chat or the settings
TRIMMED = (Snapshot.Reason.FORCED, Snapshot.Reason.RESTORE)
STRAY_RETENTION = dt.timedelta(days=1)  # for files without a snapshot, whose row may not be committed yet
JOB_RETENTION = dt.timedelta(days=7)  # of snapshots that failed, after their end


def discard(rows: models.QuerySet[Snapshot]) -> None:
    """Delete rows now, and their files once the transaction is committed."""
    file: Any = Snapshot._meta.get_field("file")
    names = [name for name in rows.values_list("file", flat=True) if name]
    rows.delete()
    for name in names:
        transaction.on_commit(partial(file.storage.delete, name))


@contextmanager
def scratch_file() -> Iterator[BinaryIO]:
    """Open a temporary file, in memory as long as it is small."""
    with tempfile.SpooledTemporaryFile(max_size=MAX_IN_MEMORY) as file:
        yield cast(BinaryIO, file)


@transaction.atomic
def store_snapshot(
    scope: SnapshotScope, reason: str, on_progress: Callable[[int], None] = lambda rows: None
) -> Snapshot:
    """Write and store a snapshot. The caller's transaction holds the locks of what is written.

    Of those that nobody asked for, only the newest are kept.
    """
    with scratch_file() as file:
        manifest = write_archive(scope, file, on_progress)
        snapshot = store_archive(scope, manifest, reason, File(file))
    if reason in TRIMMED:
        trim_snapshots(scope, reason, KEPT)
    return snapshot


def store_archive(scope: SnapshotScope, manifest: Manifest, reason: str, file: "File[Any]") -> Snapshot:
    """Store an archive as a snapshot."""
    now = timezone.now()
    snapshot = Snapshot(
        owner_id=scope.owner_id,
        kind=scope.kind,
        chat_id=scope.chat_id,
        title=manifest.title,
        reason=reason,
        state=Snapshot.State.SUCCEEDED,
        done=manifest.rows,
        total=manifest.rows,
        started_at=now,
        finished_at=now,
    )
    snapshot.save(force_insert=True)
    keep_file(snapshot, manifest, file)
    return snapshot


def keep_file(snapshot: Snapshot, manifest: Manifest, file: "File[Any]") -> None:
    """Store the archive of a snapshot."""
    # Under a name of its own: a second worker, or a repetition, doesn't overwrite it.
    snapshot.file.save(f"{snapshot.pk}.zip", file, save=False)
    snapshot.size, snapshot.counts, snapshot.title = snapshot.file.size, manifest.counts, manifest.title
    snapshot.taken_at = manifest.taken_at or snapshot.created_at
    snapshot.save(update_fields=["file", "size", "counts", "title", "taken_at"])


def trim_snapshots(scope: SnapshotScope, reason: str, kept: int) -> None:
    """Delete all but the newest snapshots of a scope with a reason."""
    rows = Snapshot.objects.for_owner(scope.owner_id).filter(kind=scope.kind, chat_id=scope.chat_id, reason=reason)
    rows = rows.filter(state=Snapshot.State.SUCCEEDED)
    newest = list(rows.order_by("-pk").values_list("pk", flat=True)[:kept])
    # One that is being restored stays.
    under_way = Restore.objects.for_owner(scope.owner_id).filter(snapshot=OuterRef("pk"), state__in=OPEN_STATES)
    discard(rows.exclude(pk__in=newest).exclude(Exists(under_way)))


def delete_leftovers(now: dt.datetime) -> None:
    """Delete files without a snapshot, and snapshots that failed long ago."""
    field: Any = Snapshot._meta.get_field("file")
    with system_scope():
        failed = Snapshot.objects.filter(state__in=("failed", "cancelled"), finished_at__lt=now - JOB_RETENTION)
        discard(failed)
        try:
            names = [f"{field.upload_to}{name}" for name in field.storage.listdir(field.upload_to)[1]]
        except FileNotFoundError:  # the folder is created by the first snapshot
            return
        known = set(Snapshot.objects.filter(file__in=names).values_list("file", flat=True))
    for name in names:
        if name not in known and field.storage.get_modified_time(name) < now - STRAY_RETENTION:
            field.storage.delete(name)
