"""Celery tasks of extraction. They receive ids only, since a message may wait in its queue for long.

A message for a job means "run the next job of this queue", which may be another one (``apps.common.jobs``).
"""

from collections.abc import Callable
from typing import Any
from uuid import UUID

from celery import current_app, shared_task

from apps.chats.models import Chat
from apps.common import jobs
from apps.common.database.restriction import restrict
from apps.common.scoping import system_scope
from apps.extraction.jobs import embedding_jobs
from apps.extraction.models import EmbeddingJob, ExtractionRun, IndexJob, ModelTest
from apps.extraction.runs import pipeline, settling
from apps.extraction.suitability import model_tests

MODELS = "models"  # the queue of jobs that may wait for a server
TEST_TIME_LIMIT = 3600  # seconds; a model on a slow machine takes a quarter of an hour


# Chats


@shared_task
def settle_chat(*, chat_id: str, **kwargs: Any) -> None:
    """Settle a chat unless it was deleted."""
    with system_scope():
        chat = Chat.objects.select_related("character").filter(pk=chat_id).first()
    if chat is not None:
        restrict(chat.owner_id)
        settling.settle(chat)


@shared_task
def sweep_chats(**kwargs: Any) -> None:
    """Settle the chats that changed since they were last settled, each in its own task."""
    for chat_id in settling.unsettled_chats():
        settle_chat.delay(chat_id=str(chat_id))


# Runs


@shared_task
def run_extraction(*, run_id: str, **kwargs: Any) -> None:
    """Execute the next run of the queue."""
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
    """Enqueue a message for a run."""
    _send(run_extraction, ExtractionRun, run_id=run_id)


@shared_task
def sweep_runs(**kwargs: Any) -> None:
    """Re-queue runs that lost their worker or their queue message."""
    jobs.send_lost(ExtractionRun)


# Model tests


@shared_task(time_limit=TEST_TIME_LIMIT)
def run_model_test(*, test_id: str, **kwargs: Any) -> None:
    """Execute a test of a model."""
    model_tests.execute(UUID(test_id))


def send_model_test(test_id: UUID) -> None:
    """Enqueue a message for a test of a model. Tests have one queue and no turns: each message runs its own."""
    run_model_test.delay(test_id=str(test_id))


# Embeddings and the index of messages


@shared_task
def run_reembedding(*, job_id: str, **kwargs: Any) -> None:
    """Execute the next job that recomputes embeddings."""
    _run_next(EmbeddingJob, job_id, send_embedding_job)


def send_embedding_job(job_id: UUID) -> None:
    """Enqueue a message for a job that recomputes embeddings."""
    _send(run_reembedding, EmbeddingJob, job_id=job_id)


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
    embedding_jobs.on_embedding_changed(UUID(owner_id))


@shared_task
def index_chat(*, job_id: str, **kwargs: Any) -> None:
    """Execute the next job that indexes a chat."""
    _run_next(IndexJob, job_id, send_index_job)


def send_index_job(job_id: UUID) -> None:
    """Enqueue a message for a job that indexes a chat."""
    _send(index_chat, IndexJob, job_id=job_id)


@shared_task
def sweep_jobs(**kwargs: Any) -> None:
    """Re-queue jobs that lost their worker or their queue message. Fail tests that lost their worker."""
    jobs.fail_orphans(ModelTest, model_tests.WORKER_LOST)
    for test_id in jobs.take_lost(ModelTest, MODELS):
        send_model_test(test_id)
    jobs.send_lost(EmbeddingJob)
    jobs.send_lost(IndexJob)


# The two queues of a job: of the owner's server, which may keep a worker waiting, and of all others


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
