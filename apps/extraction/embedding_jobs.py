"""Vectors made anew once an owner's embedding model is another one: of memories, arcs and passages.

A row says by which model its vector is, so that work that was broken off goes on with what is left. Until a row's
turn comes it is found by its words.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any
from uuid import UUID

import structlog
from django.db import transaction
from django.db.models import F
from django.db.models.functions import Greatest

from apps.chats.models import Chat
from apps.common.problems import Conflict
from apps.extraction import jobs
from apps.extraction.models import EmbeddingJob
from apps.extraction.runs import ClaimLost
from apps.llm.backends import embedder_for
from apps.llm.embeddings import Embedder, EmbeddingUnavailable
from apps.memories.models import Arc, Memory, Passage
from apps.memories.passages import index_batches

BATCH = 32  # texts that are embedded and stored at once
TURN = 60.0  # seconds after which a job lets other work have its turn
TEXTS: tuple[type[Any], ...] = (Memory, Arc)
ALL: tuple[type[Any], ...] = (*TEXTS, Passage)

log = structlog.get_logger(__name__)


def waiting(owner: Any, model: str) -> int:
    """How many of the owner's rows have no vector by ``model``."""
    return sum(_stale(table, owner, model).count() for table in ALL)


@transaction.atomic
def start_reembedding(owner: Any) -> EmbeddingJob | None:
    """A job that waits for a worker, in place of one for another model; None where there is nothing to do.

    One that goes on for the same model is returned as it is. Raises Conflict where no model can be had.
    """
    model = current_model(owner)
    jobs.lock_owner(owner)
    active = jobs.active_job(EmbeddingJob, owner)
    if active and active.model == model:
        return active
    if active:
        jobs.cancel_job(active)
    if not (total := waiting(owner, model)):
        return None
    return EmbeddingJob.objects.create(owner_id=getattr(owner, "pk", owner), model=model, total=total)


def current_model(owner: Any) -> str:
    """The name of the model that makes the owner's vectors. Raises Conflict."""
    try:
        return embedder_for(owner).model
    except EmbeddingUnavailable as error:
        raise Conflict(f"No vectors can be made now: {error}") from error


def execute(job_id: UUID, *, turn: float = TURN, on_progress: Callable[[int], None] = lambda rows: None) -> bool:
    """Go on with a job; whether it is to be sent to a worker again, since it took longer than ``turn`` seconds.

    ``on_progress`` is told how many rows each batch brought up to date.
    """
    job = jobs.claim_job(EmbeddingJob, job_id, revives=True)
    if job is None:
        return False
    end = time.monotonic() + turn
    try:
        for rows in steps(job):
            on_progress(rows)
            if time.monotonic() > end:
                jobs.yield_job(job)
                return True
    except ClaimLost:
        log.info("reembedding_given_up", job=str(job.pk))
    except EmbeddingUnavailable as error:
        jobs.end_job(job, EmbeddingJob.State.FAILED, f"{error} What is left can be found by its words.")
    except Exception:
        jobs.end_job(job, EmbeddingJob.State.FAILED, "Something went wrong on our side.")
        raise
    else:
        jobs.end_job(job, EmbeddingJob.State.SUCCEEDED, done=F("total"))
    return False


def steps(job: EmbeddingJob) -> Iterator[int]:
    """Work through what is left of a claimed job, batch by batch; how many rows each had.

    Raises ClaimLost, EmbeddingUnavailable.
    """
    embedder = embedder_for(job.owner_id)
    left = waiting(job.owner_id, embedder.model)
    jobs.beat(job, model=embedder.model, total=F("done") + left)
    for table in TEXTS:
        while rows := list(
            _stale(table, job.owner_id, embedder.model).order_by("pk").values_list("pk", "text")[:BATCH]
        ):
            embed_texts(table, job.owner_id, rows, embedder)
            _advance(job, len(rows))
            yield len(rows)
    for chat in _stale_chats(job.owner_id, embedder.model):
        yield from _passages(job, chat, embedder)


def embed_texts(table: type[Any], owner: Any, rows: Sequence[tuple[UUID, str]], embedder: Embedder) -> None:
    """Store the vectors of rows, each as (id, text); one that was written meanwhile keeps what it was given then."""
    vectors = embedder.embed([text for _, text in rows])
    by_row = {pk: (text, vector) for (pk, text), vector in zip(rows, vectors, strict=True)}
    with transaction.atomic():
        current = list(table.objects.for_owner(owner).select_for_update(no_key=True).filter(pk__in=by_row))
        for row in current:
            text, vector = by_row[row.pk]
            if row.text == text:
                row.embedding, row.embedding_model = vector, embedder.model
        table.objects.for_owner(owner).bulk_update(current, ["embedding", "embedding_model"])


def _passages(job: EmbeddingJob, chat: Chat, embedder: Embedder) -> Iterator[int]:
    """Bring one chat's index up to date, which embeds what is by another model."""
    for written in index_batches(job.owner_id, chat):
        _advance(job, written)
        yield written
        if _stale(Passage, job.owner_id, embedder.model).filter(chat=chat, embedding_model="").exists():
            embedder.embed(["ready"])  # where the server is gone, the index was written without vectors: say so


def _advance(job: EmbeddingJob, rows: int) -> None:
    """A changed message takes its neighbours' passages along: it may be more than was counted at first."""
    jobs.beat(job, done=F("done") + rows, total=Greatest("total", F("done") + rows))


def _stale(table: type[Any], owner: Any, model: str) -> Any:
    return table.objects.for_owner(owner).exclude(embedding_model=model)


def _stale_chats(owner: Any, model: str) -> list[Chat]:
    ids = _stale(Passage, owner, model).values("chat_id")
    return list(Chat.objects.for_owner(owner).filter(pk__in=ids).order_by("pk"))
