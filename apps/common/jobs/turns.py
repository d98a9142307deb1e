"""Which job of a queue a worker runs next: owners take turns, and of an owner comes first what they wait for."""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, cast
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Count, Max, Q
from django.utils import timezone

from apps.common.disk import DiskState, disk_state
from apps.common.jobs.models import SINCE, Job, kinds, without_heartbeat
from apps.common.jobs.transitions import claim, take_lost
from apps.common.scoping import system_scope

TURN_PERIOD = dt.timedelta(hours=1)  # owners without a turn within this time wait on equal terms
# Of an owner's jobs, those that nobody waits for get a turn this often, however many there are that a person waits for.
BACKGROUND_PERIOD = dt.timedelta(minutes=1)
Conditions = Mapping[type[Job], Callable[[], Q]]


@dataclass
class JobLine:
    """The jobs of one kind of an owner: either those that a person waits for, or the others.

    ``first`` is the one that has waited longest, ``since`` then. Without one, none can be claimed.
    """

    model: type[Job]
    is_awaited: bool
    last_turn: dt.datetime
    running: int = 0
    first: UUID | None = None
    since: dt.datetime | None = None

    def has_waited(self, now: dt.datetime) -> bool:
        """Return whether a job has waited for longer than BACKGROUND_PERIOD."""
        return self.since is not None and self.since < now - BACKGROUND_PERIOD


def run_next(queue: str) -> None:
    """Run the next job of a queue for a time slice, and enqueue a message if it is not finished then.

    Where servers are waited for, an owner's jobs may have waited for this one to end: enqueue a message for the next.
    While the disk is full, jobs wait: the sweep sends a message again once there is space.
    """
    if disk_state() is DiskState.FULL:
        return
    by_model = {kind.model: kind for kind in kinds if kind.queue == queue}
    job = claim_next(list(by_model), {model: kind.only for model, kind in by_model.items()})
    if job is None:
        return
    kind = by_model[type(job)]
    if kind.execute(job):
        kind.send(job.pk)
    elif queue in settings.WAITING_QUEUES and (waiting := next_of_owner(job)):
        kind.send(waiting)


def send_on_commit(job: Job) -> None:
    """Enqueue a message for a job once the transaction is committed, as the kinds of its model do."""
    kind = next(kind for kind in kinds if kind.model is type(job))
    transaction.on_commit(partial(kind.send, job.pk))


def send_lost(model: type[Job]) -> None:
    """Enqueue a message for each job whose message was lost, as ``take_lost`` finds them in each queue of the model."""
    for kind in kinds:
        if kind.model is model:
            for job_id in take_lost(model, kind.queue, kind.only):
                kind.send(job_id)


def next_of_owner(ended: Job) -> UUID | None:
    """Return the id of the owner's job that can run now because ``ended`` does no more; None if nothing limits them."""
    model = type(ended)
    if not model.limits_owners:
        return None
    with system_scope():
        rows = model.objects.for_owner(ended.owner_id).filter(model.claimable(timezone.now()))
        return rows.order_by("created_at", "pk").values_list("pk", flat=True).first()


def claim_next(models: Sequence[type[Job]], only: Conditions | None = None) -> Job | None:
    """Claim the next job of ``models``, of some ``only`` those of a condition. Return None if there is none to claim.

    Owners take turns. First come owners with the fewest running jobs, then those whose last turn is the longest ago. Of
    an owner's jobs first come those that a person waits for, then those of the kind whose last turn is the longest ago,
    then the one that has waited longest. If an owner's other jobs had no turn for BACKGROUND_PERIOD, one of them comes
    before.
    """
    while found := _next_in_turn(models, only or {}):
        if job := claim(*found):  # else another worker was faster, or it was claimed too often
            return job
    return None


def _next_in_turn(models: Sequence[type[Job]], only: Conditions) -> tuple[type[Job], UUID] | None:
    now = timezone.now()
    with system_scope():
        lines = _lines_by_owner(models, only, now)
    waiting = {owner: line for owner, of_owner in lines.items() if (line := _first_line(of_owner, now))}
    if not waiting:
        return None

    def turn(owner: UUID) -> tuple[Any, ...]:
        of_owner = lines[owner]
        return sum(line.running for line in of_owner), max(line.last_turn for line in of_owner), waiting[owner].since

    line = waiting[min(waiting, key=turn)]
    return line.model, cast(UUID, line.first)


def _lines_by_owner(models: Sequence[type[Job]], only: Conditions, now: dt.datetime) -> dict[UUID, list[JobLine]]:
    """Return the lines of each owner. Jobs that another queue runs count as running too."""
    lines: dict[tuple[UUID, type[Job], bool], JobLine] = {}
    never = now - TURN_PERIOD
    for model in models:
        rows: Any = model.objects.annotate(is_asked=model.is_awaited())
        # A job whose worker died does not run, and its owner would come after all others while they have any.
        is_running = Q(state=Job.State.RUNNING) & ~without_heartbeat(now)
        recent = rows.filter(claimed_at__gt=never).values_list("owner_id", "is_asked")
        turns = recent.annotate(last=Max("claimed_at"), running=Count("pk", filter=is_running))
        for owner, is_awaited, last, running in turns:
            lines[owner, model, is_awaited] = JobLine(model, is_awaited, last, running)
        for owner, is_awaited, since, pk in _firsts(model, rows.filter(only.get(model, Q)()), now):
            line = lines.setdefault((owner, model, is_awaited), JobLine(model, is_awaited, never))
            line.since, line.first = since, pk
    by_owner: dict[UUID, list[JobLine]] = defaultdict(list)
    for (owner, _, _), line in lines.items():
        by_owner[owner].append(line)
    return by_owner


def _firsts(model: type[Job], rows: Any, now: dt.datetime) -> Iterable[tuple[UUID, bool, dt.datetime, UUID]]:
    """Return the first job to claim of each line, with its owner, whether it is awaited, and since when it waits."""
    rows = rows.filter(model.claimable(now), owner__is_active=True).annotate(since=SINCE)
    if not model.runs_suspended:
        rows = rows.exclude(owner__suspended_until__gt=now)
    firsts = rows.order_by("owner_id", "is_asked", "since", "pk").distinct("owner_id", "is_asked")
    found: Iterable[tuple[UUID, bool, dt.datetime, UUID]] = firsts.values_list("owner_id", "is_asked", "since", "pk")
    return found


def _first_line(lines: Sequence[JobLine], now: dt.datetime) -> JobLine | None:
    """Return the line from which an owner's next job is taken, or None if none has a job to claim."""
    background = [line for line in lines if not line.is_awaited]
    is_due = all(line.last_turn < now - BACKGROUND_PERIOD for line in background)

    def turn(line: JobLine) -> tuple[Any, ...]:
        comes_before = line.is_awaited or (is_due and line.has_waited(now))
        return not comes_before, line.is_awaited, line.last_turn, line.since

    return min((line for line in lines if line.first), key=turn, default=None)
