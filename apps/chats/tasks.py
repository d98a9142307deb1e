"""Celery tasks of chats: change events, trimming of logs, imports."""

from typing import Any
from uuid import UUID

from celery import shared_task
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import timezone

from apps.chats import operations
from apps.chats.models import Chat, ImportJob
from apps.chats.signals import ChatChanged, chat_committed
from apps.chats.transfer import import_jobs
from apps.common import jobs
from apps.common.database.restriction import restrict
from apps.common.scoping import Owner


@shared_task
def dispatch_chat_committed(**event: Any) -> None:
    """Send ``chat_committed`` to all receivers. Exceptions are logged, and do not stop the others."""
    changed = ChatChanged(**event)
    restrict(changed.owner_id)
    chat_committed.send_robust(sender=Chat, event=changed)


@shared_task
def trim_change_logs(**kwargs: Any) -> None:
    """Delete old entries of the chats' change logs."""
    operations.trim_change_logs(timezone.now())


@shared_task
def purge_old_chats(**kwargs: Any) -> None:
    """Delete chats for good that have been in the bin for long enough."""
    operations.purge_old_chats(timezone.now())


@shared_task
def purge_old_personas(**kwargs: Any) -> None:
    """Delete personas for good that have been deleted for long enough."""
    operations.purge_old_personas(timezone.now())


@shared_task
def run_import_job(*, job_id: str, **kwargs: Any) -> None:
    """Run the next job of the queue, which may be another one than the message was sent for."""
    jobs.run_next("indexing")


def execute_import_job(job: ImportJob) -> bool:
    """Import the file of a claimed job. Return False, since an import is not divided into time slices."""
    import_jobs.run_claimed_import_job(job)
    return False


def send_import_job(job_id: UUID) -> None:
    """Enqueue a message for an import."""
    run_import_job.delay(job_id=str(job_id))


@shared_task
def sweep_import_jobs(**kwargs: Any) -> None:
    """Restart imports whose worker or task message was lost, and delete old ones."""
    for job_id in jobs.take_lost(ImportJob, "indexing"):
        send_import_job(job_id)
    import_jobs.delete_ended_import_jobs(timezone.now())


def request_decided_import(job: ImportJob, existing: str) -> None:
    """Queue a paused import again with ``decide``, and send it to a worker after the commit."""
    with transaction.atomic():
        if import_jobs.decide(job, existing):
            run_import_job.delay_on_commit(job_id=str(job.pk))


def request_import(owner: Owner, upload: UploadedFile, **options: Any) -> ImportJob:
    """Create an import with ``create_import_job``, and send it to a worker after the commit."""
    with transaction.atomic():
        job = import_jobs.create_import_job(owner, upload, **options)
        run_import_job.delay_on_commit(job_id=str(job.pk))
    return job
