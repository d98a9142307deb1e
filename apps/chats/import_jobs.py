"""Imports in the background: a file is kept, taken in by a worker that tells how far it is, and removed.

A job belongs to the worker that claimed it, for as long as that gives a sign of life. All of a file is stored in one
transaction, with the job's success: a worker that dies leaves nothing behind, and the next one starts over.
"""

import datetime as dt
from typing import Any, BinaryIO, cast
from uuid import UUID

import structlog
from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.db.models import Q

from apps.chats.import_progress import CalledOff, Progress, claimed_row
from apps.chats.imports import import_chats
from apps.chats.models import Character, ImportJob
from apps.common import clock
from apps.common.problems import Invalid, Missing, Problem, TooLarge
from apps.common.scoping import system_scope

logger = structlog.get_logger(__name__)

DEAD_AFTER = dt.timedelta(seconds=60)  # without a sign of life
UNDER_WAY = (ImportJob.State.QUEUED, ImportJob.State.RUNNING)


def create_import_job(
    owner: Any, upload: UploadedFile, *, title: str = "", character: Character | None = None
) -> ImportJob:
    """Keep the file and queue its import. Raises Invalid for an empty file, TooLarge beyond IMPORT_MAX_BYTES."""
    size = upload.size or 0
    if size > settings.IMPORT_MAX_BYTES:
        raise TooLarge(f"The file is larger than {settings.IMPORT_MAX_BYTES} bytes.")
    if not size:
        raise Invalid.at("/file", "The file is empty.")
    job = ImportJob(owner_id=owner.pk, filename=(upload.name or "chat")[-255:], title=title, character=character)
    job.bytes_total = size
    # Under its id: what the file is called is nobody else's business.
    job.file.save(str(job.pk), upload, save=False)
    job.save(force_insert=True)
    return job


def access_import_job(owner: Any, job_id: UUID) -> ImportJob:
    """The owner's job. Raises Missing."""
    job = ImportJob.objects.for_owner(owner).filter(pk=job_id).first()
    if job is None:
        raise Missing("There is no such import.")
    return job


def cancel_import_job(job: ImportJob) -> ImportJob:
    """Call the job off, unless it has ended: nothing of it is stored."""
    mine = ImportJob.objects.for_owner(job.owner_id).filter(pk=job.pk)
    mine.filter(state__in=UNDER_WAY).update(state=ImportJob.State.CANCELLED, finished_at=clock.now())
    job.refresh_from_db()
    return job


def run_import_job(job_id: UUID) -> None:
    """Take in the file of a job that nobody else works at. What is wrong with the file is kept with the job."""
    job = _claim(job_id)
    if job is None:
        return
    try:
        _take_in(job)
    except CalledOff:
        logger.info("import called off", job=str(job.pk))
    except Problem as problem:
        _end(job, ImportJob.State.FAILED, error=problem.detail)
    except Exception:
        _end(job, ImportJob.State.FAILED, error="This is our fault. Keep the file, and try again later.")
        raise
    finally:
        remove_file_if_ended(job)


def _claim(job_id: UUID) -> ImportJob | None:
    now = clock.now()
    with system_scope():
        free = Q(state=ImportJob.State.QUEUED) | Q(state=ImportJob.State.RUNNING, heartbeat_at__lt=now - DEAD_AFTER)
        claimed = ImportJob.objects.filter(free, pk=job_id).update(
            state=ImportJob.State.RUNNING, started_at=now, heartbeat_at=now, bytes_done=0, messages=0
        )
        return ImportJob.objects.select_related("owner", "character").get(pk=job_id) if claimed else None


def _take_in(job: ImportJob) -> None:
    with job.file.open("rb") as stored:
        file = cast(BinaryIO, stored)
        with transaction.atomic(), Progress(job) as progress:
            result = import_chats(
                job.owner,
                file,
                filename=job.filename,
                title=job.title,
                character=job.character,
                job=job,
                watch=lambda messages: progress.note(file.tell(), messages),
            )
            progress.stop()
            report = result.report.as_dict()
            fields = {"report": report, "messages": result.report.messages, "bytes_done": job.bytes_total}
            if not _end(job, ImportJob.State.SUCCEEDED, **fields):
                raise CalledOff


def _end(job: ImportJob, state: str, **fields: Any) -> bool:
    """Whether the job was still this worker's, and has ended by this."""
    return bool(claimed_row(job).update(state=state, finished_at=clock.now(), **fields))


def remove_file_if_ended(job: ImportJob) -> None:
    """A job that another worker has taken up still needs its file."""
    mine = ImportJob.objects.for_owner(job.owner_id).filter(pk=job.pk)
    if not mine.filter(state__in=UNDER_WAY).exists():
        job.file.delete(save=False)
        mine.update(file="")
