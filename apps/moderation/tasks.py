"""Celery tasks of moderation: the search of what was written. Workers register the tasks that this module names."""

from functools import partial
from typing import Any
from uuid import UUID

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from apps.chats.signals import ChatChanged
from apps.common import jobs
from apps.common.database.restriction import restrict
from apps.common.scoping import Owner
from apps.moderation.models import ScanJob
from apps.moderation.notice_mail import send_notice as send_notice
from apps.moderation.scanning.jobs import create_scans, delete_ended_scans


@shared_task
def run_scan(*, job_id: str, **kwargs: Any) -> None:
    """Run the next job of the queue, which may be another one than the message was sent for."""
    jobs.run_next("indexing")


def send_scan(job_id: UUID) -> None:
    """Enqueue a message for a scan."""
    run_scan.delay(job_id=str(job_id))


def request_scans(owner: Owner, kind: str, target_id: UUID, message_ids: list[UUID]) -> None:
    """Create scans, or join those that wait, and send the new ones to workers after the commit."""
    with transaction.atomic():
        for job in create_scans(owner, kind, target_id, message_ids):
            transaction.on_commit(partial(send_scan, job.pk))


def on_chat_committed(event: ChatChanged, **kwargs: Any) -> None:
    """Scan the messages of a write; all of the chat after an import or a branch. Runs in a worker."""
    is_whole = event.kind in ("import", "branch")
    if event.message_ids or is_whole:
        request_scans(event.owner_id, "chat", event.chat_id, [] if is_whole else event.message_ids)


def on_thing_saved(instance: Any, raw: bool = False, **kwargs: Any) -> None:
    """Scan a character, a persona or a lorebook after the commit of a write."""
    if not raw:
        kind = instance._meta.model_name
        scan_thing.delay_on_commit(owner_id=str(instance.owner_id), kind=kind, ids=[str(instance.pk)])


def on_memories_written(owner_id: UUID, ids: list[UUID], **kwargs: Any) -> None:
    """Scan memories that were not read from messages, after the commit of the write."""
    scan_thing.delay_on_commit(owner_id=str(owner_id), kind="memories", ids=list(map(str, ids)))


@shared_task
def scan_thing(*, owner_id: str, kind: str, ids: list[str], **kwargs: Any) -> None:
    """Create the scan of a thing or of memories that were written, if there is anything to apply."""
    owner, found = UUID(owner_id), list(map(UUID, ids))
    restrict(owner)
    is_list = kind == ScanJob.Scanned.MEMORIES
    request_scans(owner, kind, owner if is_list else found[0], found if is_list else [])


@shared_task
def sweep_scans(**kwargs: Any) -> None:
    """Re-queue scans that lost their worker or their message, and delete old ones."""
    for job_id in jobs.take_lost(ScanJob, "indexing"):
        send_scan(job_id)
    delete_ended_scans(timezone.now())
