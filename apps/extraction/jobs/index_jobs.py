"""Index the messages of a chat in the background: after an import, and for whatever a change leaves to be indexed."""

import time
from contextlib import suppress
from itertools import chain

from django.db import transaction
from django.db.models import F

from apps.chats.locking import lock_chat
from apps.chats.models import Chat
from apps.common import jobs
from apps.common.problems import Missing
from apps.extraction.models import IndexJob
from apps.search.indexing import has_stale_passages, index_batches

PASSES = 2  # the second pass finds messages that were written during the first


@transaction.atomic
def start_index_job(chat: Chat) -> tuple[IndexJob, bool]:
    """Return a job that indexes the chat, and whether it was created. Ended jobs are deleted. Raise Missing."""
    chat = lock_chat(chat.owner_id, chat.pk)
    rows = IndexJob.objects.for_owner(chat.owner_id).filter(chat=chat)
    if active := rows.active().first():
        return active, False
    rows.delete()
    return IndexJob.objects.create(owner_id=chat.owner_id, chat=chat, total=chat.message_count), True


def request_index_job(chat: Chat) -> None:
    """Start a job as ``start_index_job`` does, and queue it on commit; do nothing if the chat is gone."""
    with suppress(Missing), transaction.atomic():
        job, created = start_index_job(chat)
        if created:
            jobs.send_on_commit(job)


def execute_and_follow(job: IndexJob) -> bool:
    """Execute a claimed job for a time slice, then start one for what was written too late for it.

    Return True if the job was re-queued.
    """
    requeued = execute_claimed(job)
    wrote = IndexJob.objects.for_owner(job.owner_id).filter(pk=job.pk, state=IndexJob.State.SUCCEEDED, done__gt=0)
    if not requeued and wrote.exists() and has_stale_passages(job.owner_id, job.chat):
        request_index_job(job.chat)
    return requeued


def execute_claimed(job: IndexJob, *, max_seconds: float = jobs.SLICE_SECONDS) -> bool:
    """Run or resume a claimed job. Return True if it was re-queued after ``max_seconds``."""
    deadline = time.monotonic() + max_seconds
    with jobs.fail_on_error(job):
        for rows in chain.from_iterable(index_batches(job.owner_id, job.chat) for _ in range(PASSES)):
            jobs.heartbeat(job, done=F("done") + rows, claims=0)
            if time.monotonic() > deadline:
                jobs.requeue(job)
                return True
        jobs.end(job, IndexJob.State.SUCCEEDED)
    return False
