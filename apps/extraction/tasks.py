"""Celery tasks of extraction, and the signal receivers and sweeps that queue them. Tasks receive ids only."""

import datetime as dt
import time
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from celery import shared_task
from django.db import transaction
from django.utils import timezone

from apps.chats.models import Chat, ChatChange
from apps.chats.signals import ChatChanged
from apps.common import jobs
from apps.common.problems import Conflict, Missing
from apps.common.scoping import Owner, system_scope
from apps.extraction import embedding_jobs, model_tests, pipeline, runs
from apps.extraction.invalidation import inherit_from_parent, invalidate_chat
from apps.extraction.models import EmbeddingJob, ExtractionRun, ModelTest
from apps.extraction.settings.queries import settings_of
from apps.llm.models import Connection
from apps.memories.passages import index_batches

EDIT_KINDS = (ChatChange.Kind.PATCH, ChatChange.Kind.UNDO)  # the kinds of change that alter existing messages
MAX_SEARCHED = 500  # newest messages searched for ones to extract if no existing message was altered
SWEEP_PERIOD = dt.timedelta(hours=2)  # a sweep looks at chats changed within this time
TEST_TIME_LIMIT = 3600  # seconds; a model on a slow machine takes a quarter of an hour
INDEXING_SECONDS = 20.0  # time after which indexing goes back to the queue to let other tasks run


def on_chat_committed(event: ChatChanged, **kwargs: Any) -> None:
    """Invalidate memories that lost their source, start an extraction if it is due, and update the message index."""
    chat = Chat.objects.for_owner(event.owner_id).select_related("character").filter(pk=event.chat_id).first()
    if chat is not None:
        if event.kind in EDIT_KINDS:
            invalidate_if_exists(chat)
        extract_if_due(chat, since=0 if event.kind in EDIT_KINDS else max(chat.message_count - MAX_SEARCHED, 0))
        if settings_of(chat).index_messages:
            update_index(chat)


def on_chat_branched(chat: Chat, **kwargs: Any) -> None:
    """Copy the parent's memories to a new branch, in the transaction that creates it."""
    inherit_from_parent(chat)


def on_chat_restored(chat: Chat, **kwargs: Any) -> None:
    """Index what was not while the chat was in the bin. The sweep of chats starts a run if one is due."""
    transaction.on_commit(partial(index_chat.delay, chat_id=str(chat.pk)))


def invalidate_if_exists(chat: Chat) -> None:
    """Invalidate memories that lost their source; do nothing if the chat was deleted in the meantime."""
    with suppress(Missing):
        invalidate_chat(chat.owner_id, chat.pk)


def extract_if_due(chat: Chat, *, since: int = 0) -> None:
    """Start a run if one is due, looking at messages from index ``since`` on."""
    if runs.is_due(chat, since=since):
        request_run(chat.owner_id, chat)


def update_index(chat: Chat) -> None:
    """Update the chat's search index for INDEXING_SECONDS, and leave the rest to a task."""
    end = time.monotonic() + INDEXING_SECONDS
    for _ in index_batches(chat.owner_id, chat):
        if time.monotonic() > end:
            index_chat.delay(chat_id=str(chat.pk))
            return


@shared_task
def index_chat(*, chat_id: str, **kwargs: Any) -> None:
    """Update a chat's search index."""
    with system_scope():
        chat = Chat.objects.filter(pk=chat_id).first()
    if chat is not None:
        update_index(chat)


@shared_task
def sweep_chats(**kwargs: Any) -> None:
    """Invalidate and extract from chats that changed lately, in case the task after a change was lost."""
    since = timezone.now() - SWEEP_PERIOD
    with system_scope():
        chats = list(Chat.objects.filter(updated_at__gte=since).select_related("character"))
    for chat in chats:
        if not chat.runs.open().exists() and not _failed_since_change(chat):
            invalidate_if_exists(chat)
            extract_if_due(chat)


def _failed_since_change(chat: Chat) -> bool:
    """Return whether the latest run failed and the chat has not changed since, so that a sweep need not retry."""
    latest = runs.latest_run(chat.owner_id, chat)
    return latest is not None and latest.state == ExtractionRun.State.FAILED and latest.chat_rev == chat.rev


# Runs


def request_run(owner: Owner, chat: Chat, **options: Any) -> tuple[ExtractionRun, bool]:
    """Start a run as ``runs.start_run`` does, and queue it on commit."""
    with transaction.atomic():
        run, created = runs.start_run(owner, chat, **options)
        if created:
            transaction.on_commit(partial(run_extraction.delay, run_id=str(run.pk)))
    return run, created


def resume_run(run: ExtractionRun) -> ExtractionRun:
    """Resume a paused run, and queue it on commit."""
    with transaction.atomic():
        run = jobs.resume(run)
        if run.is_active:
            transaction.on_commit(partial(run_extraction.delay, run_id=str(run.pk)))
    return run


@shared_task
def run_extraction(*, run_id: str, **kwargs: Any) -> None:
    """Execute a run."""
    if pipeline.execute(UUID(run_id)):
        run_extraction.delay(run_id=run_id)


@shared_task
def sweep_runs(**kwargs: Any) -> None:
    """Re-queue runs that lost their worker or their queue message."""
    for run_id in jobs.jobs_to_revive(ExtractionRun):
        run_extraction.delay(run_id=str(run_id))


# Model tests and embeddings


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
    """Start a job as ``embedding_jobs.start_embedding_job`` does, and queue it on commit."""
    with transaction.atomic():
        job = embedding_jobs.start_embedding_job(owner)
        if job and job.claim is None:
            transaction.on_commit(partial(run_reembedding.delay, job_id=str(job.pk)))
    return job


def on_embedding_changed(owner_id: UUID, **kwargs: Any) -> None:
    """Start a job that recomputes the owner's embeddings; do nothing if no model is available."""
    with suppress(Conflict):
        request_embedding_job(owner_id)


@shared_task
def run_reembedding(*, job_id: str, **kwargs: Any) -> None:
    """Execute a job that recomputes embeddings."""
    if embedding_jobs.execute(UUID(job_id)):
        run_reembedding.delay(job_id=job_id)


@shared_task
def sweep_jobs(**kwargs: Any) -> None:
    """Re-queue jobs that lost their worker or their queue message. Fail tests that lost their worker."""
    jobs.fail_orphans(ModelTest, model_tests.WORKER_LOST)
    for test_id in jobs.jobs_to_revive(ModelTest):
        run_model_test.delay(test_id=str(test_id))
    for job_id in jobs.jobs_to_revive(EmbeddingJob):
        run_reembedding.delay(job_id=str(job_id))
