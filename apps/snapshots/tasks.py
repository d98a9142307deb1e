"""Celery tasks of snapshots."""

from functools import partial
from typing import Any
from uuid import UUID

from celery import shared_task
from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.common import jobs
from apps.common.database.restriction import restricted_to
from apps.common.scoping import Owner
from apps.snapshots import mirror, operations, running, storing
from apps.snapshots.models import Restore, Snapshot
from apps.snapshots.moments import Moment

INTERRUPTED = gettext_noop("The restore was interrupted, and nothing was changed. Start it again.")


@shared_task
def run_snapshot_job(*, job_id: str, **kwargs: Any) -> None:
    """Run the next job of the queue, which may be another one than the message was sent for."""
    jobs.run_next("indexing")


def send_snapshot(job_id: UUID) -> None:
    """Enqueue a message for a snapshot."""
    run_snapshot_job.delay(job_id=str(job_id))


def send_restore(job_id: UUID) -> None:
    """Enqueue a message for a restore."""
    run_snapshot_job.delay(job_id=str(job_id))


def execute_snapshot(job: Snapshot) -> bool:
    """Make a claimed snapshot. Return False, since it is not divided into time slices."""
    running.run_snapshot(job)
    return False


def execute_restore(job: Restore) -> bool:
    """Run a claimed restore. Return False, since it is not divided into time slices."""
    running.run_restore(job)
    return False


def request_snapshot(owner: Owner) -> Snapshot:
    """Have workers make a snapshot of the account as it is now, after the commit; return the one under way, if any."""
    moment = Moment.now()
    try:
        with transaction.atomic():
            snapshot, created = _send_snapshot(owner, Snapshot.Reason.MANUAL, moment.name if moment else "")
            if moment and created:
                transaction.on_commit(partial(moment.keep_for, snapshot.pk))
                moment = None
        return snapshot
    finally:
        if moment:
            moment.release()


def _send_snapshot(owner: Owner, reason: str, moment: str = "") -> tuple[Snapshot, bool]:
    with transaction.atomic():
        snapshot, created = operations.create_snapshot(owner, reason, moment)
        if created:
            run_snapshot_job.delay_on_commit(job_id=str(snapshot.pk))
    return snapshot, created


def request_restore(snapshot: Snapshot) -> Restore:
    """Create a restore with ``create_restore``, and send it to a worker after the commit."""
    with transaction.atomic():
        restore = operations.create_restore(snapshot)
        run_snapshot_job.delay_on_commit(job_id=str(restore.pk))
    return restore


@shared_task
def make_daily_snapshots(**kwargs: Any) -> None:
    """Request a snapshot of each account that has changed since its last one."""
    if settings.SNAPSHOTS_DAILY:
        for owner_id in operations.owners_with_changes():
            with restricted_to(owner_id):
                _send_snapshot(owner_id, Snapshot.Reason.DAILY)


@shared_task
def sweep_snapshots(**kwargs: Any) -> None:
    """Restart snapshots whose worker or message was lost, fail restores whose worker was, and delete leftovers."""
    jobs.fail_orphans(Restore, INTERRUPTED)
    for model in (Snapshot, Restore):
        for job_id in jobs.take_lost(model, "indexing"):
            send_snapshot(job_id)
    storing.delete_leftovers(timezone.now())


@shared_task
def mirror_chats(**kwargs: Any) -> None:
    """Write the chats that have changed into the mirror, if there is one, and delete those that were purged."""
    mirror.delete_purged_chats()
    mirror.mirror_settled_chats(timezone.now())
