"""Make and restore snapshots in the background."""

from collections.abc import Callable
from typing import BinaryIO, cast

import structlog
from django.conf import settings
from django.core.files import File
from django.db import transaction
from django.db.models import F

from apps.common import jobs
from apps.common.jobs.progress import Progress
from apps.common.problems import Missing, Problem
from apps.common.stored_texts import gettext_stored
from apps.snapshots.archives import Archive, Manifest
from apps.snapshots.models import Restore, Snapshot
from apps.snapshots.operations import scope_of
from apps.snapshots.restoring import restore_archive
from apps.snapshots.storing import keep_file, scratch_file, trim_snapshots
from apps.snapshots.writing import MomentLost, write_archive_of_moment, write_archive_of_one_moment

log = structlog.get_logger(__name__)


def run_snapshot(job: Snapshot) -> None:
    """Make the snapshot of a claimed job: of the moment at which it was asked for, or of now if that isn't kept."""
    scope = scope_of(job)
    with jobs.fail_on_error(job, Problem), scratch_file() as file:
        with Progress(job) as progress:
            manifest = _write(job, file, lambda rows, total: progress.update(done=rows, total=total))
        with transaction.atomic():
            jobs.heartbeat(job)  # the job is still ours, and its row is locked
            keep_file(job, manifest, File(file))
            jobs.end(job, Snapshot.State.SUCCEEDED, done=manifest.rows, total=manifest.rows)
            if job.reason == Snapshot.Reason.DAILY:
                trim_snapshots(scope, job.reason, settings.SNAPSHOTS_DAILY)


def _write(job: Snapshot, file: BinaryIO, on_progress: Callable[[int, int], None]) -> Manifest:
    if job.moment:
        try:
            return write_archive_of_moment(scope_of(job), file, on_progress, job.moment, job.taken_at)
        except MomentLost:
            log.warning("moment_of_snapshot_lost", snapshot=str(job.pk))
    return write_archive_of_one_moment(scope_of(job), file, on_progress)


def run_restore(job: Restore) -> None:
    """Restore the snapshot of a claimed job, after a snapshot of what it replaces. All of it is done, or nothing."""
    with jobs.fail_on_error(job, Problem):
        try:
            with job.snapshot.file.open("rb") as file:
                # It was made here, or its signature was checked when it arrived. The secret may be another one by now.
                _restore(job, Archive(cast(BinaryIO, file), signed=False))
        except FileNotFoundError as error:
            raise Missing(gettext_stored("The file of the snapshot is missing.")) from error


def _restore(job: Restore, archive: Archive) -> None:
    archive.check()
    with transaction.atomic(), Progress(job) as progress:
        safety = restore_archive(archive, job.owner_id, lambda rows: progress.update(done=rows))
        progress.stop()
        if not jobs.end(job, Restore.State.SUCCEEDED, done=F("total"), safety=safety):
            raise jobs.ClaimLost
