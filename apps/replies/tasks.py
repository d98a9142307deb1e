"""Celery tasks of generations."""

from typing import Any
from uuid import UUID

import structlog
from celery import shared_task

from apps.common import jobs
from apps.common.database.restriction import restricted_to
from apps.common.scoping import system_scope
from apps.replies import operations, running
from apps.replies.models import Generation

logger = structlog.get_logger(__name__)


@shared_task
def run_generation(*, generation_id: str, **kwargs: Any) -> None:
    """Run a generation, if no other worker has claimed it and its owner has a place, then one that waited for that."""
    generation = jobs.claim(Generation, UUID(generation_id))
    if generation is None:
        return
    running.run(generation)
    if waiting := jobs.next_of_owner(generation):
        operations.send(waiting)


@shared_task
def sweep_generations(**kwargs: Any) -> None:
    """Fail generations that lost their worker, write texts that were not written, and send those queued for long."""
    jobs.fail_orphans(Generation, operations.WORKER_LOST)
    with system_scope():
        ended = Generation.objects.filter(settled=False, state__in=jobs.TERMINAL_STATES, chat__deleted_at=None)
        unsettled = list(ended)
    for generation in unsettled:
        try:
            with restricted_to(generation.owner_id):
                operations.settle(generation)
        except Exception:  # which must not keep the others from being stored
            logger.exception("could not store the text of a generation", generation=str(generation.pk))
    for generation_id in jobs.take_lost(Generation, "replies"):
        operations.send(generation_id)
