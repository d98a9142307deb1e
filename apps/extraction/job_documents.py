"""Work beside runs as documents of the HTTP contract."""

from typing import Any

from apps.chats.dates import timestamp
from apps.extraction.models import EmbeddingJob, ModelTest
from apps.extraction.models.jobs import Job


def _common(job: Job) -> dict[str, Any]:
    return {
        "id": str(job.pk),
        "state": job.state,
        "done": job.done,
        "total": job.total,
        "error": job.error,
        "created_at": timestamp(job.created_at),
        "started_at": timestamp(job.started_at),
        "finished_at": timestamp(job.finished_at),
    }


def model_test_document(test: ModelTest) -> dict[str, Any]:
    return _common(test) | {
        "connection": str(test.connection_id) if test.connection_id else None,
        "backend": test.backend,
        "model": test.model,
        "results": test.results,
    }


def reembedding_document(model: str, waiting: int, job: EmbeddingJob | None) -> dict[str, Any]:
    """The model that makes an owner's vectors, how many it hasn't made yet, and the latest job, or null."""
    return {"model": model, "waiting": waiting, "job": _common(job) | {"model": job.model} if job else None}
