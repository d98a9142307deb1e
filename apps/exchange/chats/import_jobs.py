"""Run imports in the background: store the uploaded file, import it in a worker, and delete it.

The chats of a file and the success of its job are committed in one transaction. If the worker dies, nothing is stored
and the next worker starts from the beginning.
"""

import datetime as dt
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, BinaryIO, cast
from uuid import UUID

from django.conf import settings
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext

from apps.chats.models import Character, ImportJob
from apps.common import jobs
from apps.common.database.rows import first_or_missing
from apps.common.jobs.progress import Progress
from apps.common.problems import Invalid, Problem, TooLarge
from apps.common.scoping import Owner, owner_id_of, system_scope
from apps.exchange.chats.imports import AlreadyImported, ImportResult, import_for_job
from apps.exchange.chats.repeats import Match

FILE_RETENTION = dt.timedelta(seconds=60)  # after a job's end, while its worker may still read the file
JOB_RETENTION = dt.timedelta(days=7)  # after a job's end
STRAY_RETENTION = dt.timedelta(days=1)  # for files without a job, whose job may not be committed yet


def create_import_job(
    owner: Owner,
    upload: UploadedFile,
    *,
    title: str = "",
    character: Character | None = None,
    existing: str = ImportJob.Existing.COPY,
    matches: Sequence[Match] = (),
) -> ImportJob:
    """Store the file and create its job, which is paused if ``matches`` are known.

    Raise Invalid for an empty file, TooLarge beyond IMPORT_MAX_BYTES.
    """
    size = upload.size or 0
    if size > settings.IMPORT_MAX_BYTES:
        raise TooLarge(
            gettext("The file is larger than %(import_max_bytes)s bytes.")
            % {"import_max_bytes": settings.IMPORT_MAX_BYTES}
        )
    if not size:
        raise Invalid.at("/file", gettext("The file is empty."))
    filename = (upload.name or "chat")[-255:]
    job = ImportJob(
        owner_id=owner_id_of(owner),
        filename=filename,
        title=title,
        character=character,
        existing=existing,
        matches=[match.as_dict() for match in matches],
        state=ImportJob.State.PAUSED if matches else ImportJob.State.QUEUED,
        total=size,
    )
    # Stored under the job's id: the original name may be private.
    job.file.save(str(job.pk), upload, save=False)
    job.save(force_insert=True)
    return job


@transaction.atomic
def import_at_once(owner: Owner, upload: UploadedFile) -> tuple[ImportJob, ImportResult]:
    """Import a small file during the request. Its job has succeeded already, so that it stands in the list of imports.

    Raise AlreadyImported, and what ``import_for_job`` raises; then there is no job either.
    """
    now = timezone.now()
    job = ImportJob.objects.create(
        owner_id=owner_id_of(owner),
        filename=(upload.name or "chat")[-255:],
        existing=ImportJob.Existing.ASK,
        state=ImportJob.State.SUCCEEDED,
        done=upload.size or 0,
        total=upload.size or 0,
        started_at=now,
        finished_at=now,
    )
    result = import_for_job(job, cast(BinaryIO, upload))
    job.messages, job.report = result.report.messages, result.report.as_dict()
    job.save(update_fields=["messages", "report"])
    return job, result


def decide(job: ImportJob, existing: str) -> bool:
    """Queue a paused import again, with what becomes of chats that are stored already.

    Do nothing and return False if it is not paused.
    """
    rows = ImportJob.objects.for_owner(job.owner_id).filter(pk=job.pk, state=ImportJob.State.PAUSED)
    is_paused = bool(rows.update(existing=existing, matches=[]))
    if is_paused:
        jobs.resume(job)
    return is_paused


def access_import_job(owner: Owner, job_id: UUID) -> ImportJob:
    """Return the owner's import job. Raise Missing."""
    return first_or_missing(ImportJob.objects.for_owner(owner).filter(pk=job_id), gettext("There is no such import."))


def run_import_job(job_id: UUID) -> None:
    """Import the file of a job, if the job can be claimed."""
    job = jobs.claim(ImportJob, job_id)
    if job is not None:
        run_claimed_import_job(job)


def run_claimed_import_job(job: ImportJob) -> None:
    """Import the file of a claimed job, from the beginning. An unreadable file fails the job.

    The job is paused if it is to ask what becomes of chats that are stored already.
    """
    try:
        with jobs.fail_on_error(job, Problem):
            jobs.heartbeat(job, done=0, messages=0)
            try:
                _import(job)
            except AlreadyImported as found:
                matches = [match.as_dict() for match in found.matches]
                jobs.postpone(job, "", None, done=0, messages=0, matches=matches)
    finally:
        remove_file_if_ended(job)


def _import(job: ImportJob) -> None:
    with job.file.open("rb") as stored:
        file = cast(BinaryIO, stored)
        with transaction.atomic(), Progress(job) as progress:
            result = import_for_job(
                job, file, lambda messages: progress.update(done=min(file.tell(), job.total), messages=messages)
            )
            progress.stop()
            fields: dict[str, Any] = {
                "report": result.report.as_dict(),
                "messages": result.report.messages,
                "done": job.total,
            }
            if not jobs.end(job, ImportJob.State.SUCCEEDED, **fields):
                raise jobs.ClaimLost


def remove_file_if_ended(job: ImportJob) -> None:
    """Remove the job's file, unless another worker still needs it."""
    rows = ImportJob.objects.for_owner(job.owner_id).filter(pk=job.pk)
    if not rows.open().exists():
        job.file.delete(save=False)
        rows.update(file="")


def delete_ended_import_jobs(now: dt.datetime) -> None:
    """Delete jobs that ended long ago, files of ended jobs, and files without a job. Cancel those nobody decides on."""
    with system_scope():
        for job in ImportJob.objects.filter(state=jobs.Job.State.PAUSED, created_at__lt=now - JOB_RETENTION):
            jobs.cancel(job)
        ended = ImportJob.objects.filter(state__in=jobs.TERMINAL_STATES)
        for job in ended.filter(finished_at__lt=now - FILE_RETENTION).exclude(file=""):
            remove_file_if_ended(job)
        ended.filter(finished_at__lt=now - JOB_RETENTION).delete()
        _delete_stray_files(now)


def _delete_stray_files(now: dt.datetime) -> None:
    """Delete the files of jobs that were never committed, or were deleted with their owner."""
    field = ImportJob._meta.get_field("file")
    names: list[str] = []
    with suppress(FileNotFoundError):  # the folder is created by the first import
        names = [f"{field.upload_to}{name}" for name in field.storage.listdir(str(field.upload_to))[1]]
    names_in_use = set(ImportJob.objects.filter(file__in=names).values_list("file", flat=True))
    for name in names:
        if name not in names_in_use and field.storage.get_modified_time(name) < now - STRAY_RETENTION:
            field.storage.delete(name)
