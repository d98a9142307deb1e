"""Celery tasks of chats."""

from typing import Any
from uuid import UUID

from celery import shared_task
from django.core.files.uploadedfile import UploadedFile
from django.db import transaction

from apps.chats import import_jobs, import_sweeping, operations
from apps.chats.models import Chat, ImportJob
from apps.chats.signals import ChatChanged, chat_committed
from apps.common import clock


@shared_task
def dispatch_chat_committed(**event: Any) -> None:
    """Send ``chat_committed`` to all receivers. Exceptions are logged, and do not stop the others."""
    chat_committed.send_robust(sender=Chat, event=ChatChanged(**event))


@shared_task
def trim_change_logs(**kwargs: Any) -> None:
    """Forget old writes to chats."""
    operations.trim_change_logs(clock.now())


@shared_task
def run_import_job(*, job_id: str, **kwargs: Any) -> None:
    import_jobs.run_import_job(UUID(job_id))


@shared_task
def sweep_import_jobs(**kwargs: Any) -> None:
    """Send imports that were lost to a worker again, and forget those that ended long ago."""
    for job_id in import_sweeping.import_jobs_to_revive(clock.now()):
        run_import_job.delay(job_id=str(job_id))
    import_sweeping.forget_ended_import_jobs(clock.now())


def request_import(owner: Any, upload: UploadedFile, **options: Any) -> ImportJob:
    """As ``import_jobs.create_import_job``; the job goes to a worker once it is committed."""
    with transaction.atomic():
        job = import_jobs.create_import_job(owner, upload, **options)
        run_import_job.delay_on_commit(job_id=str(job.pk))
    return job
