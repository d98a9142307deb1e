"""Imports that were lost, and what ended ones leave: swept once a minute."""

import datetime as dt
from contextlib import suppress
from uuid import UUID

from django.db.models import Q

from apps.chats.import_jobs import DEAD_AFTER, UNDER_WAY, remove_file_if_ended
from apps.chats.models import ImportJob
from apps.common.scoping import system_scope

KEPT = dt.timedelta(days=7)  # jobs that have ended are listed for so long
GIVEN_UP_AFTER = dt.timedelta(days=1)  # a job that every worker died of
STRAY_AFTER = dt.timedelta(days=1)


def import_jobs_to_revive(now: dt.datetime) -> list[UUID]:
    """Jobs that wait for a worker for too long, or whose worker is gone.

    One that waits is returned once in a while only: that counts as a sign of life of its queue.
    """
    late = now - DEAD_AFTER
    with system_scope():
        orphaned = ImportJob.objects.filter(state=ImportJob.State.RUNNING, heartbeat_at__lt=late)
        orphaned.filter(created_at__lt=now - GIVEN_UP_AFTER).update(
            state=ImportJob.State.FAILED, finished_at=now, error="The import did not come to its end in a day."
        )
        silent = Q(heartbeat_at=None, created_at__lt=late) | Q(heartbeat_at__lt=late)
        ids = list(ImportJob.objects.filter(silent, state__in=UNDER_WAY).values_list("pk", flat=True))
        ImportJob.objects.filter(pk__in=ids, state=ImportJob.State.QUEUED).update(heartbeat_at=now)
    return ids


def forget_ended_import_jobs(now: dt.datetime) -> None:
    """Remove jobs that have ended long ago, and the files that nobody needs."""
    with system_scope():
        ended = ImportJob.objects.exclude(state__in=UNDER_WAY)
        for job in ended.filter(finished_at__lt=now - DEAD_AFTER).exclude(file=""):
            remove_file_if_ended(job)
        ended.filter(finished_at__lt=now - KEPT).delete()
        _remove_strays(now)


def _remove_strays(now: dt.datetime) -> None:
    """The files of jobs that were never committed, or went with their owner."""
    field = ImportJob._meta.get_field("file")
    names: list[str] = []
    with suppress(FileNotFoundError):  # nothing was ever imported
        names = [f"{field.upload_to}{name}" for name in field.storage.listdir(str(field.upload_to))[1]]
    wanted = set(ImportJob.objects.filter(file__in=names).values_list("file", flat=True))
    for name in names:
        if name not in wanted and field.storage.get_modified_time(name) < now - STRAY_AFTER:
            field.storage.delete(name)
