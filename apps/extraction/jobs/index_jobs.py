"""Index the messages of a chat in the background: after an import, and for whatever a change leaves to be indexed."""

import time
from itertools import chain

from django.db import transaction
from django.db.models import F

from apps.chats.locking import lock_chat
from apps.chats.models import Chat
from apps.common import jobs
from apps.extraction.models import IndexJob
from apps.search.indexing import index_batches

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
