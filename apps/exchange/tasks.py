"""Celery tasks of imports.

Their names are those of the app that had them first: a message that was queued before an upgrade is run after it.
"""

from typing import Any
from uuid import UUID

from celery import shared_task
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction
from django.utils import timezone

from apps.chats.models import ImportJob
from apps.common import jobs
from apps.common.scoping import Owner
from apps.exchange.chats import import_jobs


@shared_task(name="apps.chats.tasks.run_import_job")
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


@shared_task(name="apps.chats.tasks.sweep_import_jobs")
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
