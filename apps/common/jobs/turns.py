"""Which job of a queue a worker runs next: owners take turns, however many jobs each of them has."""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Count, Max, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from apps.common.jobs.models import Job, without_heartbeat
from apps.common.jobs.transitions import claim
from apps.common.registry import Registry
from apps.common.scoping import system_scope

TURN_PERIOD = dt.timedelta(hours=1)  # owners without a turn within this time wait on equal terms


@dataclass(frozen=True)
class Kind:
    """Kind of job that workers of ``queue`` execute.

    ``execute`` runs a claimed job for a time slice, and returns True if it re-queued the job. ``send`` enqueues a
    message for the job with the given id. ``only`` returns the condition of the jobs that this queue has, where another
    one has the rest.
    """

    model: type[Job]
    queue: str
    execute: Callable[[Any], bool]
    send: Callable[[UUID], object]
    only: Callable[[], Q] = Q


kinds: Registry[Kind] = Registry()


def run_next(queue: str) -> None:
    """Run the next job of a queue for a time slice, and enqueue a message if it is not finished then.

    Where the jobs of an owner have waited for this one to end, enqueue a message for the next of them.
    """
    by_model = {kind.model: kind for kind in kinds if kind.queue == queue}
    job = claim_next(list(by_model), {model: kind.only for model, kind in by_model.items()})
    if job is None:
        return
    kind = by_model[type(job)]
    if kind.execute(job):
        kind.send(job.pk)
    elif waiting := next_of_owner(job):
        kind.send(waiting)


def queue_of(model: type[Job], job_id: UUID) -> str:
    """Return the queue whose workers run a job."""
    *others, last = [kind for kind in kinds if kind.model is model]
    with system_scope():
        found = [kind.queue for kind in others if model.objects.filter(kind.only(), pk=job_id).exists()]
    return [*found, last.queue][0]


def next_of_owner(ended: Job) -> UUID | None:
    """Return the id of the owner's job that can run now because ``ended`` does no more; None if nothing limits them."""
    model = type(ended)
    if not model.limits_owners:
        return None
    with system_scope():
        rows = model.objects.for_owner(ended.owner_id).filter(model.claimable(timezone.now()))
        return rows.order_by("created_at", "pk").values_list("pk", flat=True).first()


def claim_next(models: Sequence[type[Job]], only: Mapping[type[Job], Callable[[], Q]] | None = None) -> Job | None:
    """Claim the next job of ``models``, of some ``only`` those of a condition. Return None if there is none to claim.

    Owners take turns. First come owners with the fewest running jobs, then those whose last turn is the longest ago; of
    an owner's jobs those of the model that is named first, then the one that has waited longest.
    """
    while found := _next_in_turn(models, only or {}):
        if job := claim(*found):  # else another worker was faster, or it was claimed too often
            return job
    return None


def _next_in_turn(
    models: Sequence[type[Job]], only: Mapping[type[Job], Callable[[], Q]]
) -> tuple[type[Job], UUID] | None:
    now = timezone.now()
    waiting: dict[UUID, tuple[dt.datetime, type[Job], UUID]] = {}  # each owner's next job
    running: Counter[UUID] = Counter()
    last_turns: dict[UUID, dt.datetime] = {}
    with system_scope():
        for model in models:
            rows = model.objects.filter(model.claimable(now), only.get(model, Q)(), owner__is_active=True)
            rows = rows.annotate(since=Coalesce("claimed_at", "created_at"))
            if not model.runs_suspended:
                rows = rows.exclude(owner__suspended_until__gt=now)
            firsts = rows.order_by("owner_id", "since", "pk").distinct("owner_id")
            for owner, since, pk in firsts.values_list("owner_id", "since", "pk"):
                waiting.setdefault(owner, (since, model, pk))
            recent = model.objects.filter(claimed_at__gt=now - TURN_PERIOD).values_list("owner_id")
            # A job whose worker died does not run, and its owner would come after all others while they have any.
            is_running = Q(state=Job.State.RUNNING) & ~without_heartbeat(now)
            turns = recent.annotate(last=Max("claimed_at"), running=Count("pk", filter=is_running))
            for owner, last, count in turns:
                running[owner] += count
                last_turns[owner] = max(last, last_turns.get(owner, last))
    if not waiting:
        return None
    never = now - TURN_PERIOD
    owner = min(waiting, key=lambda owner: (running[owner], last_turns.get(owner, never), waiting[owner][0]))
    return waiting[owner][1:]
