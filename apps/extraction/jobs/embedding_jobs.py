"""Recompute embeddings of memories, arcs, journal entries and passages after a change of the embedding model.

Each row names the model of its vector, so that a job that was interrupted continues with the remaining rows. Until
it is recomputed, a row is found by full-text search only.
"""

import datetime as dt
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.translation import gettext_noop

from apps.chats.models import Chat
from apps.common import jobs
from apps.common.jobs.progress import Progress
from apps.common.problems import Conflict
from apps.common.scoping import Owner, owner_id_of
from apps.common.stored_texts import gettext_stored, msgid_of
from apps.extraction.models import EmbeddingJob
from apps.llm.backends.selection import embedder_for
from apps.llm.embeddings import LOCAL_MODELS, Embedder, EmbeddingUnavailable, installation_model
from apps.llm.generation import TransientFailure
from apps.llm.models import Connection
from apps.memories.models import Arc, JournalEntry, Memory, Passage
from apps.search.indexing import index_batches

MODEL_CHANGED = gettext_noop("The embedding model was changed.")
RETRY_AFTER = dt.timedelta(minutes=5)
BATCH_SIZE = 32  # texts that are embedded and stored together
TABLES_WITH_TEXT: tuple[type[Any], ...] = (Memory, Arc, JournalEntry)
EMBEDDED_TABLES: tuple[type[Any], ...] = (*TABLES_WITH_TEXT, Passage)


def count_stale(owner: Owner, model: str) -> int:
    """Return how many of the owner's rows are not yet embedded with ``model``."""
    return sum(_stale(table, owner, model).count() for table in EMBEDDED_TABLES)


def current_model(owner: Owner) -> str:
    """Return the name of the owner's embedding model. Raise Conflict if it is unavailable."""
    try:
        return embedder_for(owner).model
    except EmbeddingUnavailable as error:
        raise Conflict(gettext_stored("The embedding model is unavailable: %(error)s", error=error)) from error


def owners_of_former_model() -> list[UUID]:
    """Return who has vectors by another model of Loci's own than EMBEDDING_MODEL names, which has been changed.

    Leave out who stopped the job that recomputes them, and whose own server does. Call in a system scope.
    """
    model = installation_model()
    former = [name for name in LOCAL_MODELS.values() if name != model]
    found = {
        owner_id
        for table in EMBEDDED_TABLES
        for owner_id in table.objects.filter(embedding_model__in=former).order_by().values_list("owner_id").distinct()
    }
    found -= set(Connection.objects.filter(for_embeddings=True).values_list("owner_id"))
    owner_ids = {owner_id for (owner_id,) in found}
    newest = EmbeddingJob.objects.filter(owner__in=owner_ids).order_by("owner", "-pk").distinct("owner")
    return sorted(owner_ids - {job.owner_id for job in newest if job.model == model and _was_stopped(job)})


def _was_stopped(job: EmbeddingJob) -> bool:
    """Return whether a person has stopped the job, not a change of the model."""
    return job.state == EmbeddingJob.State.CANCELLED and msgid_of(job.error) != MODEL_CHANGED


@transaction.atomic
def start_embedding_job(owner: Owner) -> tuple[EmbeddingJob | None, bool]:
    """Return a queued job, or the active one for the same model, and whether it was created.

    Return None if there is nothing to do. An active job for another model is cancelled. Raise Conflict if no model is
    available.
    """
    model = current_model(owner)
    jobs.lock_owner(owner)
    active = EmbeddingJob.objects.for_owner(owner).active().first()
    if active and active.model == model:
        return active, False
    if active:
        jobs.cancel(active)
        EmbeddingJob.objects.for_owner(owner).filter(pk=active.pk).update(error=gettext_stored(MODEL_CHANGED))
    if not (total := count_stale(owner, model)):
        return None, False
    return EmbeddingJob.objects.create(owner_id=owner_id_of(owner), model=model, total=total), True


def request_embedding_job(owner: Owner) -> EmbeddingJob | None:
    """Start a job as ``start_embedding_job`` does, and queue it on commit if it is a new one."""
    with transaction.atomic():
        job, created = start_embedding_job(owner)
        if job and created:
            jobs.send_on_commit(job)
    return job


def on_embedding_changed(owner_id: UUID, **kwargs: Any) -> None:
    """Start a job that recomputes the owner's embeddings; do nothing if no model is available."""
    with suppress(Conflict):
        request_embedding_job(owner_id)


def latest_embedding_job(owner: Owner) -> EmbeddingJob | None:
    """Return the owner's latest job, or None."""
    return EmbeddingJob.objects.for_owner(owner).order_by("-pk").first()


def cancel_embedding_job(owner: Owner) -> None:
    """Cancel the owner's active job, if any. Embeddings that it has computed stay."""
    if job := EmbeddingJob.objects.for_owner(owner).active().first():
        jobs.cancel(job)


def execute(
    job_id: UUID, *, max_seconds: float = jobs.SLICE_SECONDS, on_progress: Callable[[int], None] = lambda rows: None
) -> bool:
    """Run or resume a job as ``execute_claimed`` does. Do nothing if the job can't be claimed."""
    job = jobs.claim(EmbeddingJob, job_id)
    return job is not None and execute_claimed(job, max_seconds=max_seconds, on_progress=on_progress)


def execute_claimed(
    job: EmbeddingJob,
    *,
    max_seconds: float = jobs.SLICE_SECONDS,
    on_progress: Callable[[int], None] = lambda rows: None,
) -> bool:
    """Run or resume a claimed job. Return True if it was re-queued because ``max_seconds`` have passed.

    ``on_progress`` is called with the number of rows after each batch.
    """
    deadline = time.monotonic() + max_seconds
    with jobs.fail_on_error(job):
        try:
            with Progress(job):  # a server that refuses each of a batch's texts at first is called hundreds of times
                for rows in run_batches(job):
                    on_progress(rows)
                    if time.monotonic() > deadline:
                        jobs.requeue(job)
                        return True
        except EmbeddingUnavailable as error:
            if isinstance(error.__cause__, TransientFailure):
                reason = gettext_stored("%(error)s It is tried again in a few minutes.", error=error)
                jobs.postpone(job, reason, timezone.now() + RETRY_AFTER)
                return False
            reason = gettext_stored("%(error)s The remaining texts can only be found by their words.", error=error)
            jobs.end(job, EmbeddingJob.State.FAILED, reason)
        else:
            jobs.end(job, EmbeddingJob.State.SUCCEEDED, done=F("total"))
    return False


def run_batches(job: EmbeddingJob) -> Iterator[int]:
    """Embed the stale rows of a claimed job, and yield the number of rows after each batch.

    Raise ClaimLost, EmbeddingUnavailable.
    """
    owner = job.owner_id
    embedder = embedder_for(owner)
    remaining = count_stale(owner, embedder.model)
    jobs.heartbeat(job, model=embedder.model, total=F("done") + remaining)
    for table in TABLES_WITH_TEXT:
        # Embedded rows are no longer stale, so that the next query returns the next batch.
        while rows := list(_stale(table, owner, embedder.model).order_by("pk").values_list("pk", "text")[:BATCH_SIZE]):
            embed_texts(table, owner, rows, embedder)
            _add_progress(job, len(rows))
            yield len(rows)
    chat_ids = _stale(Passage, owner, embedder.model).values("chat_id")
    for chat in list(Chat.objects.for_owner(owner).filter(pk__in=chat_ids).order_by("pk")):
        yield from _index_chat(job, chat, embedder)


def embed_texts(table: type[Any], owner: Owner, rows: Sequence[tuple[UUID, str]], embedder: Embedder) -> None:
    """Embed and store rows, given as (id, text). A row whose text was edited in the meantime keeps its old vector."""
    vectors = embedder.embed([text for _, text in rows])
    by_row = {pk: (text, vector) for (pk, text), vector in zip(rows, vectors, strict=True)}
    with transaction.atomic():
        current = list(table.objects.for_owner(owner).select_for_update(no_key=True).filter(pk__in=by_row))
        for row in current:
            text, vector = by_row[row.pk]
            if row.text == text:
                row.embedding, row.embedding_model = vector, embedder.model
        table.objects.for_owner(owner).bulk_update(current, ["embedding", "embedding_model"])


def _index_chat(job: EmbeddingJob, chat: Chat, embedder: Embedder) -> Iterator[int]:
    """Update a chat's passages, which embeds the stale ones, and yield the number of rows after each batch."""
    for rows in index_batches(job.owner_id, chat):
        _add_progress(job, rows)
        yield rows
        if _stale(Passage, job.owner_id, embedder.model).filter(chat=chat, embedding_model="").exists():
            # Passages are written without vectors if the embedder fails; one more call raises its error here.
            embedder.embed(["ready"])


def _add_progress(job: EmbeddingJob, rows: int) -> None:
    """Add to the job's progress. ``done`` may exceed the initial total: an edit re-embeds neighbouring passages too."""
    jobs.heartbeat(job, done=F("done") + rows, total=Greatest("total", F("done") + rows), claims=0)


def _stale(table: type[Any], owner: Owner, model: str) -> Any:
    rows = table.objects.for_owner(owner).exclude(embedding_model=model)
    # Passages of chats in the bin are indexed when the chat is restored.
    return rows.filter(chat__deleted_at=None) if table is Passage else rows
