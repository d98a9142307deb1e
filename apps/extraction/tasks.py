"""What happens in the background. Tasks carry ids; what they do stands elsewhere."""

import contextlib
import datetime as dt
import time
from contextlib import suppress
from functools import partial
from typing import Any
from uuid import UUID

from celery import shared_task
from django.db import transaction

from apps.chats.models import Chat, ChatChange
from apps.chats.signals import ChatChanged
from apps.common import clock
from apps.common.problems import Conflict, Missing
from apps.common.scoping import system_scope
from apps.extraction import embedding_jobs as reembedding
from apps.extraction import jobs, model_tests, pipeline, runs
from apps.extraction.invalidation import inherit_from_parent, invalidate_chat
from apps.extraction.models import EmbeddingJob, ExtractionRun, ModelTest
from apps.extraction.settings.queries import settings_of
from apps.llm.models import Connection
from apps.memories.passages import index_batches

TAKES_BACK = (ChatChange.Kind.PATCH, ChatChange.Kind.UNDO)  # other writes change nothing that was said
NEWEST = 500  # messages among which something new is looked for where nothing older has changed
SETTLED_WITHIN = dt.timedelta(hours=2)
TEST_LIMIT = 3600  # seconds; a model on a slow machine takes a quarter of an hour
INDEXING_TURN = 20.0  # seconds; a long chat takes many turns, and lets other work in between


def on_chat_committed(event: ChatChanged, **kwargs: Any) -> None:
    """Invalidate memories that lost their source, start an extraction if it is due, and update the message index."""
    chat = Chat.objects.for_owner(event.owner_id).select_related("character").filter(pk=event.chat_id).first()
    if chat is not None:
        if event.kind in TAKES_BACK:
            take_back(chat)
        extract_if_due(chat, since=0 if event.kind in TAKES_BACK else max(chat.message_count - NEWEST, 0))
        if settings_of(chat).index_messages:
            index_for_a_while(chat)


def take_back(chat: Chat) -> None:
    """Bring what is remembered in line with what the chat says now."""
    with suppress(Missing):  # it was deleted meanwhile
        invalidate_chat(chat.owner_id, chat.pk)


def on_chat_branched(chat: Chat, **kwargs: Any) -> None:
    """Copy the parent's memories to a new branch, in the transaction that creates it."""
    inherit_from_parent(chat)


def extract_if_due(chat: Chat, *, since: int = 0) -> None:
    if runs.is_due(chat, since=since):
        request_run(chat.owner_id, chat)


def index_for_a_while(chat: Chat) -> None:
    """Bring the chat's index up to date; what is left after a turn's time is left to a task of its own."""
    end = time.monotonic() + INDEXING_TURN
    for _ in index_batches(chat.owner_id, chat):
        if time.monotonic() > end:
            index_chat.delay(chat_id=str(chat.pk))
            return


def request_run(owner: Any, chat: Chat, **options: Any) -> tuple[ExtractionRun, bool]:
    """As ``runs.start_run``; the run goes to a worker once it is committed."""
    with transaction.atomic():
        run, made = runs.start_run(owner, chat, **options)
        if made:
            transaction.on_commit(partial(run_extraction.delay, run_id=str(run.pk)))
    return run, made


@shared_task
def index_chat(*, chat_id: str, **kwargs: Any) -> None:
    with system_scope():
        chat = Chat.objects.filter(pk=chat_id).first()
    if chat is not None:
        index_for_a_while(chat)


@shared_task
def run_extraction(*, run_id: str, **kwargs: Any) -> None:
    if pipeline.execute(UUID(run_id)):
        run_extraction.delay(run_id=run_id)


def resume(run: ExtractionRun) -> ExtractionRun:
    """As ``runs.resume_run``; the run goes to a worker."""
    with transaction.atomic():
        resumed = runs.resume_run(run)
        if resumed.is_active:
            transaction.on_commit(partial(run_extraction.delay, run_id=str(run.pk)))
    return resumed


@shared_task
def sweep_runs(**kwargs: Any) -> None:
    """Send runs that were lost to a worker again."""
    for run_id in runs.runs_to_revive():
        run_extraction.delay(run_id=str(run_id))


@shared_task
def sweep_chats(**kwargs: Any) -> None:
    """Settle the chats that changed lately, in case word of it was lost on the way."""
    since = clock.now() - SETTLED_WITHIN
    with system_scope():
        chats = list(Chat.objects.filter(updated_at__gte=since).select_related("character"))
    for chat in chats:
        if not chat.runs.filter(runs.OPEN).exists() and not _failed_lately(chat):
            take_back(chat)
            extract_if_due(chat)


def _failed_lately(chat: Chat) -> bool:
    """A model that is down is not asked again every minute."""
    latest = runs.latest_run(chat.owner_id, chat)
    return latest is not None and latest.state == ExtractionRun.State.FAILED and latest.chat_rev == chat.rev


def request_model_test(owner: Any, connection: Connection | None) -> ModelTest:
    """As ``model_tests.start_test``; the test goes to a worker once it is committed."""
    with transaction.atomic():
        test = model_tests.start_test(owner, connection)
        transaction.on_commit(partial(run_model_test.delay, test_id=str(test.pk)))
    return test


@shared_task(time_limit=TEST_LIMIT)
def run_model_test(*, test_id: str, **kwargs: Any) -> None:
    model_tests.execute(UUID(test_id))


def request_reembedding(owner: Any) -> EmbeddingJob | None:
    """As ``reembedding.start_reembedding``; the job goes to a worker once it is committed."""
    with transaction.atomic():
        job = reembedding.start_reembedding(owner)
        if job and job.claim is None:
            transaction.on_commit(partial(run_reembedding.delay, job_id=str(job.pk)))
    return job


def on_embedding_changed(owner_id: Any, **kwargs: Any) -> None:
    """Recompute the owner's embeddings that another model has made."""
    with contextlib.suppress(Conflict):  # no model is available: the embeddings stay as they are
        request_reembedding(owner_id)


@shared_task
def run_reembedding(*, job_id: str, **kwargs: Any) -> None:
    if reembedding.execute(UUID(job_id)):
        run_reembedding.delay(job_id=job_id)


@shared_task
def sweep_jobs(**kwargs: Any) -> None:
    """Send the work again that was lost to a worker; a test of a model that was broken off has failed."""
    jobs.fail_orphans(ModelTest, model_tests.ORPHANED)
    for test_id in jobs.jobs_to_send(ModelTest):
        run_model_test.delay(test_id=str(test_id))
    for job_id in jobs.jobs_to_send(EmbeddingJob):
        run_reembedding.delay(job_id=str(job_id))
