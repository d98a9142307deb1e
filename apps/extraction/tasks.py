"""Celery tasks of extraction, and the signal receivers and sweeps that queue them. Tasks receive ids only."""

from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from celery import current_app, shared_task
from django.db import transaction
from django.db.models import F

from apps.chats.models import Chat, ChatChange
from apps.chats.signals import ChatChanged
from apps.common import jobs
from apps.common.database.restriction import restrict
from apps.common.problems import Conflict, Missing
from apps.common.scoping import Owner, system_scope
from apps.extraction.invalidation import inherit_from_parent, invalidate_chat
from apps.extraction.jobs import embedding_jobs, index_jobs
from apps.extraction.models import EmbeddingJob, ExtractionRun, IndexJob, ModelTest
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import mark_as_asked, start_run
from apps.extraction.runs.queries import check_is_due, is_due, latest_run
from apps.extraction.runs.waiting import waiting_runs
from apps.extraction.settings.queries import settings_of
from apps.extraction.suitability import model_tests
from apps.llm.models import Connection
from apps.llm.queries import embedding_connection
from apps.search.indexing import has_stale_passages, index_changed

EDIT_KINDS = (ChatChange.Kind.PATCH, ChatChange.Kind.UNDO)  # the kinds of change that alter existing messages
MAX_SEARCHED = 500  # newest messages searched for ones to extract if no existing message was altered
MAX_SWEPT = 500  # chats that one sweep settles
MODELS = "models"  # the queue of jobs that may wait for a server
TEST_TIME_LIMIT = 3600  # seconds; a model on a slow machine takes a quarter of an hour


def on_chat_committed(event: ChatChanged, **kwargs: Any) -> None:
    """Invalidate memories that lost their source, start an extraction if it is due, and index what changed."""
    chat = Chat.objects.for_owner(event.owner_id).select_related("character").filter(pk=event.chat_id).first()
    if chat is None:
        return
    altered = event.kind in EDIT_KINDS
    if altered:
        invalidate_if_exists(chat)
    due = extract_if_due(chat, since=0 if altered else max(chat.message_count - MAX_SEARCHED, 0))
    if settings_of(chat).index_messages and _leaves_passages(event, chat):
        request_index_job(chat)
    if not due:
        mark_settled(chat, since=event.rev - 1, rev=event.rev)


def _leaves_passages(event: ChatChanged, chat: Chat) -> bool:
    """Index what changed. Return whether a job is to index more: all of an import, or what waits for a server."""
    if event.kind == ChatChange.Kind.IMPORT or embedding_connection(event.owner_id) is not None:
        return True
    return index_changed(event.owner_id, chat, event.message_ids)


def on_chat_branched(chat: Chat, **kwargs: Any) -> None:
    """Copy the parent's memories to a new branch, in the transaction that creates it."""
    inherit_from_parent(chat)


def on_chat_restored(chat: Chat, **kwargs: Any) -> None:
    """Continue what was not read or indexed while the chat was in the bin."""
    extract_if_due(chat)
    if settings_of(chat).index_messages:
        request_index_job(chat)


def invalidate_if_exists(chat: Chat) -> None:
    """Invalidate memories that lost their source; do nothing if the chat was deleted in the meantime."""
    with suppress(Missing):
        invalidate_chat(chat.owner_id, chat.pk)


def extract_if_due(chat: Chat, *, since: int = 0) -> bool:
    """Start a run if one is due, looking at messages from index ``since`` on. Return whether one is due.

    If none is, but a new reply is to be checked, the run does that alone.
    """
    due = is_due(chat, since=since)
    if due:
        request_run(chat.owner_id, chat, automatic=True)
    elif check_is_due(chat):
        request_run(chat.owner_id, chat, tiers=["continuity"], automatic=True)
        return True
    return due


# Settled chats: all that their changes require has been started


def mark_settled(chat: Chat, *, since: int, rev: int) -> None:
    """Mark a chat as settled at ``rev`` if it was settled at ``since``, or later: else an earlier task was lost."""
    rows = Chat.objects.for_owner(chat.owner_id).filter(pk=chat.pk, settled_rev__gte=since, settled_rev__lt=rev)
    rows.update(settled_rev=rev)


def settle(chat: Chat) -> None:
    """Start what the chat's changes require, in case a task after a change was lost or a run was under way then."""
    # Whatever became of runs: what moderators hide, which changes no rev, must not wait for the next one.
    invalidate_if_exists(chat)
    if chat.runs.open().exists():
        return  # its end settles the chat
    if not _ended_early_since_change(chat) and extract_if_due(chat):
        return
    if settings_of(chat).index_messages and has_stale_passages(chat.owner_id, chat):
        request_index_job(chat)
    mark_settled(chat, since=0, rev=chat.rev)


def _ended_early_since_change(chat: Chat) -> bool:
    """Return whether the latest run failed or was cancelled and the chat has not changed since: it is not repeated."""
    latest = latest_run(chat.owner_id, chat)
    ended_early = (ExtractionRun.State.FAILED, ExtractionRun.State.CANCELLED)
    return latest is not None and latest.state in ended_early and latest.chat_rev == chat.rev


@shared_task
def settle_chat(*, chat_id: str, **kwargs: Any) -> None:
    """Settle a chat unless it was deleted."""
    with system_scope():
        chat = Chat.objects.select_related("character").filter(pk=chat_id).first()
    if chat is not None:
        restrict(chat.owner_id)
        settle(chat)


@shared_task
def sweep_chats(**kwargs: Any) -> None:
    """Settle the chats that changed since they were last settled, MAX_SWEPT at a time and each in its own task."""
    with system_scope():
        unsettled = Chat.objects.filter(rev__gt=F("settled_rev")).exclude(runs__state__in=jobs.OPEN_STATES)
        ids = list(unsettled.order_by("updated_at").values_list("pk", flat=True)[:MAX_SWEPT])
    for chat_id in ids:
        settle_chat.delay(chat_id=str(chat_id))


# Runs


def request_run(owner: Owner, chat: Chat, *, asked: bool = False, **options: Any) -> tuple[ExtractionRun, bool]:
    """Start a run as ``start_run`` does, and queue it on commit. ``asked`` tells that a person waits for it."""
    with transaction.atomic():
        run, created = start_run(owner, chat, **options)
        if asked:
            mark_as_asked(run)
        if run.unsent:
            transaction.on_commit(partial(send_run, run.pk))
    return run, created


def resume_run(run: ExtractionRun, *, asked: bool = False) -> ExtractionRun:
    """Resume a paused run, and queue it on commit. ``asked`` tells that a person waits for it."""
    with transaction.atomic():
        run = ExtractionRun.objects.for_owner(run.owner_id).select_for_update(no_key=True).get(pk=run.pk)
        is_sent = run.is_active and not run.is_waiting
        if asked:
            mark_as_asked(run)
        run = jobs.resume(run)
        if run.is_active and not is_sent:
            transaction.on_commit(partial(send_run, run.pk))
    return run


def on_generation_changed(owner_id: UUID, **kwargs: Any) -> None:
    """Resume the owner's runs that wait because their model could not be called, and send the others to their queue."""
    queued = ExtractionRun.objects.for_owner(owner_id).filter(state=ExtractionRun.State.QUEUED, wait_until=None)
    for run_id in list(queued.values_list("pk", flat=True)):  # their messages may be in the queue that they have left
        transaction.on_commit(partial(send_run, run_id))
    for run in waiting_runs(owner_id):
        resume_run(run)


@shared_task
def run_extraction(*, run_id: str, **kwargs: Any) -> None:
    """Execute the next run of the queue, which may be another one than the message was sent for."""
    _run_next(ExtractionRun, run_id, send_run)


def execute_run(run: ExtractionRun) -> bool:
    """Execute a claimed run for a time slice. After its end, settle the chat, which may have new messages.

    Return True if the run was re-queued.
    """
    requeued = pipeline.execute_claimed(run)
    if not requeued:
        settle_chat.delay(chat_id=str(run.chat_id))
    return requeued


def send_run(run_id: UUID) -> None:
    """Enqueue a message for a run, where servers are waited for if its owner has connected one."""
    _send(run_extraction, ExtractionRun, run_id=run_id)


def _send(task: Any, model: type[jobs.Job], **ids: UUID) -> None:
    """Enqueue a message for a job, where servers are waited for if its owner's may be."""
    [job_id], kwargs = ids.values(), {name: str(value) for name, value in ids.items()}
    if jobs.queue_of(model, job_id) == MODELS:
        task.apply_async(kwargs=kwargs, queue=MODELS)
    else:
        task.delay(**kwargs)


def _run_next(model: type[jobs.Job], job_id: str, send: Callable[[UUID], None]) -> None:
    """Execute the next job of a job's queue; send it there if this worker has others: its owner's server is new."""
    queue = jobs.queue_of(model, UUID(job_id))
    if queue in current_app.amqp.queues.consume_from:
        jobs.run_next(queue)
    else:
        send(UUID(job_id))


@shared_task
def sweep_runs(**kwargs: Any) -> None:
    """Re-queue runs that lost their worker or their queue message."""
    jobs.send_lost(ExtractionRun)


# Model tests, embeddings and the search index


def request_model_test(owner: Owner, connection: Connection | None) -> ModelTest:
    """Start a test as ``model_tests.start_test`` does, and queue it on commit."""
    with transaction.atomic():
        test = model_tests.start_test(owner, connection)
        transaction.on_commit(partial(run_model_test.delay, test_id=str(test.pk)))
    return test


@shared_task(time_limit=TEST_TIME_LIMIT)
def run_model_test(*, test_id: str, **kwargs: Any) -> None:
    """Execute a test of a model."""
    model_tests.execute(UUID(test_id))


def request_embedding_job(owner: Owner) -> EmbeddingJob | None:
    """Start a job as ``embedding_jobs.start_embedding_job`` does, and queue it on commit if it is a new one."""
    with transaction.atomic():
        job, created = embedding_jobs.start_embedding_job(owner)
        if job and created:
            transaction.on_commit(partial(send_embedding_job, job.pk))
    return job


def on_embedding_changed(owner_id: UUID, **kwargs: Any) -> None:
    """Start a job that recomputes the owner's embeddings; do nothing if no model is available."""
    with suppress(Conflict):
        request_embedding_job(owner_id)


@shared_task
def run_reembedding(*, job_id: str, **kwargs: Any) -> None:
    """Execute the next job of the queue, which may be another one than the message was sent for."""
    _run_next(EmbeddingJob, job_id, send_embedding_job)


@shared_task
def sweep_former_vectors(**kwargs: Any) -> None:
    """Start jobs that recompute the vectors by the model that EMBEDDING_MODEL named before, each in its own task."""
    with system_scope():
        owner_ids = embedding_jobs.owners_of_former_model()
    for owner_id in owner_ids:
        recompute_vectors.delay(owner_id=str(owner_id))


@shared_task
def recompute_vectors(*, owner_id: str, **kwargs: Any) -> None:
    """Start a job that recomputes an owner's vectors, unless one is active or no model is available."""
    restrict(UUID(owner_id))
    on_embedding_changed(UUID(owner_id))


def send_embedding_job(job_id: UUID) -> None:
    """Enqueue a message for a job that recomputes embeddings."""
    _send(run_reembedding, EmbeddingJob, job_id=job_id)


def request_index_job(chat: Chat) -> None:
    """Start a job as ``index_jobs.start_index_job`` does, and queue it on commit; do nothing if the chat is gone."""
    with suppress(Missing), transaction.atomic():
        job, created = index_jobs.start_index_job(chat)
        if created:
            transaction.on_commit(partial(send_index_job, job.pk))


def execute_index(job: IndexJob) -> bool:
    """Execute a claimed job for a time slice, then start one for what was written too late for it.

    Return True if the job was re-queued.
    """
    requeued = index_jobs.execute_claimed(job)
    wrote = IndexJob.objects.for_owner(job.owner_id).filter(pk=job.pk, state=IndexJob.State.SUCCEEDED, done__gt=0)
    if not requeued and wrote.exists() and has_stale_passages(job.owner_id, job.chat):
        request_index_job(job.chat)
    return requeued


@shared_task
def index_chat(*, job_id: str, **kwargs: Any) -> None:
    """Execute the next job of the queue, which may be another one than the message was sent for."""
    _run_next(IndexJob, job_id, send_index_job)


def send_index_job(job_id: UUID) -> None:
    """Enqueue a message for a job that indexes a chat."""
    _send(index_chat, IndexJob, job_id=job_id)


@shared_task
def sweep_jobs(**kwargs: Any) -> None:
    """Re-queue jobs that lost their worker or their queue message. Fail tests that lost their worker."""
    jobs.fail_orphans(ModelTest, model_tests.WORKER_LOST)
    for test_id in jobs.take_lost(ModelTest, MODELS):
        run_model_test.delay(test_id=str(test_id))
    jobs.send_lost(EmbeddingJob)
    jobs.send_lost(IndexJob)
