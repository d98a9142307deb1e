"""Jobs that read what was written and flag it: created after a write, run by workers."""

import datetime as dt
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import UUID

from django.db import connection, transaction
from django.utils import timezone

from apps.chats.models import Message
from apps.common import jobs
from apps.common.scoping import Owner, owner_id_of, system_scope
from apps.llm.generation import GenerationFailed, TransientFailure
from apps.memories.models import Memory
from apps.moderation.models import Kind, Rule, ScanJob
from apps.moderation.operations.flags import store_flag
from apps.moderation.scanning import endpoint
from apps.moderation.scanning.rules import enabled_matchers, matching
from apps.moderation.targets import MODELS, Target, target_of, texts_of, texts_of_message

BATCH = 100  # messages between two heartbeats
WAIT = dt.timedelta(minutes=5)  # while the endpoint does not answer
MAX_WAIT = dt.timedelta(days=1)  # then the endpoint is not asked any more about what was written
KEPT = dt.timedelta(days=1)  # ended jobs
Text = tuple[Target, str]


def sources() -> list[str]:
    """Return what there is to apply: enabled rules, the endpoint, both, or nothing."""
    has_rules = Rule.objects.filter(is_enabled=True).exists()
    found = ((ScanJob.Source.RULES, has_rules), (ScanJob.Source.ENDPOINT, endpoint.is_configured()))
    return [source.value for source, exists in found if exists]


@transaction.atomic
def create_scans(owner: Owner, kind: str, target_id: UUID, message_ids: Sequence[UUID] = ()) -> list[ScanJob]:
    """Create jobs, one for each source, that read a chat's messages (all without ids), memories, or one thing.

    What has not begun is joined, so that many writes in a row leave one job. Return those that were created.
    """
    found = sources()
    if found:
        _lock_scans(owner)
    jobs_of_sources = [_join_or_create(owner, source, kind, target_id, message_ids) for source in found]
    return [job for job in jobs_of_sources if job is not None]


def _lock_scans(owner: Owner) -> None:
    """Have an owner's jobs created one at a time.

    The owner's row is not locked: a restore holds it for minutes, and a task that waits for longer than its time limit
    is given up, with what was to be scanned.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"scans of {owner_id_of(owner)}"])


def _join_or_create(
    owner: Owner, source: str, kind: str, target_id: UUID, message_ids: Sequence[UUID]
) -> ScanJob | None:
    """Add the messages to a job that has not begun, or return a new one."""
    waiting = ScanJob.objects.for_owner(owner).select_for_update().filter(state=ScanJob.State.QUEUED, started_at=None)
    job = waiting.filter(source=source, kind=kind, target_id=target_id).order_by("pk").first()
    if job is None:
        return ScanJob.objects.create(
            owner_id=owner_id_of(owner),
            source=source,
            kind=kind,
            target_id=target_id,
            message_ids=list(message_ids),
        )
    if job.message_ids:  # else it reads the whole chat
        job.message_ids = sorted({*job.message_ids, *message_ids}) if message_ids else []
        job.save(update_fields=["message_ids"])
    return None


def execute_claimed(job: ScanJob) -> bool:
    """Run a claimed job for a time slice. Return True if it was re-queued then."""
    started = time.monotonic()
    with jobs.fail_on_error(job, GenerationFailed):
        apply = _by_rules() if job.source == ScanJob.Source.RULES else _by_endpoint(job)
        try:
            while found := _next_batch(job):
                texts, done = found
                apply(texts)
                jobs.heartbeat(job, done=done, claims=0)
                job.done = done
                if time.monotonic() - started > jobs.SLICE_SECONDS:
                    jobs.requeue(job)
                    return True
        except TransientFailure as failure:
            if timezone.now() - job.created_at > MAX_WAIT:
                raise
            jobs.postpone(job, failure.detail, timezone.now() + WAIT)
            return False
        jobs.end(job, ScanJob.State.SUCCEEDED)
    return False


def _next_batch(job: ScanJob) -> tuple[list[Text], int] | None:
    """Return the next texts and what ``done`` is after them, or None at the end.

    ``done`` is the next index of a chat, or the number of ``message_ids`` that were read.
    """
    if job.kind == ScanJob.Scanned.MEMORIES:
        ids = job.message_ids[job.done : job.done + BATCH]
        memories = Memory.objects.for_owner(job.owner_id).present().filter(pk__in=ids)
        texts = [text for row in memories for text in _texts_of(Kind.MEMORY, row)]
        return (texts, job.done + len(ids)) if ids else None
    if job.kind in MODELS:
        row = MODELS[job.kind].objects.for_owner(job.owner_id).filter(pk=job.target_id).first()
        return None if row is None or job.done else (list(_texts_of(job.kind, row)), 1)
    messages = Message.objects.for_owner(job.owner_id).filter(chat=job.target_id).with_swipes().order_by("index")
    if job.message_ids:
        ids = job.message_ids[job.done : job.done + BATCH]
        return (_texts(list(messages.filter(pk__in=ids))), job.done + len(ids)) if ids else None
    batch = list(messages.filter(index__gte=job.done)[:BATCH])
    return (_texts(batch), batch[-1].index + 1) if batch else None


def _texts_of(kind: str, row: Any) -> Iterator[Text]:
    target = target_of(kind, row)
    return ((target, text) for _, text in texts_of(row))


def _texts(messages: Sequence[Message]) -> list[Text]:
    return [
        (Target(Kind.MESSAGE, message.pk, message.owner_id, message.chat_id), text)
        for message in messages
        for text in texts_of_message(message)
    ]


def _by_rules() -> Callable[[Sequence[Text]], None]:
    matchers = enabled_matchers()

    def apply(texts: Sequence[Text]) -> None:
        for target, text in texts:
            for name in matching(matchers, text):
                store_flag(target, text, name)

    return apply


def _by_endpoint(job: ScanJob) -> Callable[[Sequence[Text]], None]:
    def apply(texts: Sequence[Text]) -> None:
        for start in range(0, len(texts), endpoint.MAX_TEXTS):
            part = texts[start : start + endpoint.MAX_TEXTS]
            verdicts = endpoint.ask([text for _, text in part], lambda: jobs.heartbeat(job))
            for (target, text), verdict in zip(part, verdicts, strict=True):
                if verdict.flagged:
                    store_flag(target, text, endpoint.NAME, verdict.categories)

    return apply


def delete_ended_scans(now: dt.datetime) -> None:
    """Delete jobs that ended a day ago."""
    with system_scope():
        ended = ScanJob.objects.filter(finished_at__lt=now - KEPT).exclude(state__in=jobs.OPEN_STATES)
        ended.delete()
