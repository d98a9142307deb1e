"""Lifecycle of background jobs: an abstract model and its transitions.

| Transition      | From                                        | To                   |
|-----------------|---------------------------------------------|----------------------|
| (create)        |                                             | queued               |
| ``claim``       | queued; running without a heartbeat         | running              |
| ``claim``       | the same, already claimed MAX_CLAIMS times  | failed               |
| ``requeue``     | running, by the worker that owns it         | queued               |
| ``postpone``    | running, by the worker that owns it         | queued, paused       |
| ``end``         | running, by the worker that owns it         | succeeded, failed    |
| ``fail_orphans``| running without a heartbeat                 | failed               |
| ``pause``       | queued, running                             | paused               |
| ``resume``      | paused, queued                              | queued               |
| ``cancel``      | queued, running, paused                     | cancelled            |
| ``take_overdue``| queued, with a wait that is over            | queued, without      |

No transition leaves a terminal state; from any other state than those listed, a transition does nothing.

Jobs of owners who are banned wait, and those of suspended owners too unless the kind ``runs_suspended``.

A queued job with ``wait_until`` can't be claimed before that time; ``resume`` and ``take_overdue`` end the wait.

A worker owns a job while the job is running and ``claim`` in its row is the one that the worker received. If
the job is cancelled, paused or claimed by another worker, the worker's next heartbeat raises ClaimLost. A job
without a heartbeat for RUN_HEARTBEAT_TIMEOUT seconds has lost its worker and may be claimed by another.

A message in a queue means "run the next job of this queue": ``run_next`` chooses it, so that owners take turns however
many jobs each of them has. Jobs give way after a time slice: ``execute`` of their kind re-queues them.
"""

import datetime as dt
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar
from uuid import UUID

import structlog
from django.conf import settings
from django.contrib.auth import get_user_model
from django.db import InterfaceError, OperationalError, models
from django.db.models import Count, F, Max, Q
from django.db.models.functions import Coalesce
from django.dispatch import Signal
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from django.utils.translation import gettext_noop

from apps.common.database.restriction import restrict
from apps.common.metrics import count
from apps.common.registry import Registry
from apps.common.scoping import OwnedManager, OwnedModel, OwnedQuerySet, Owner, owner_id_of, system_scope

MAX_CLAIMS = 5  # after this many claims without progress, a job fails
SLICE_SECONDS = 10.0  # time after which a job gives way to others
TURN_PERIOD = dt.timedelta(hours=1)  # owners without a turn within this time wait on equal terms
ACTIVE_STATES = ("queued", "running")
OPEN_STATES = (*ACTIVE_STATES, "paused")
TERMINAL_STATES = ("succeeded", "failed", "cancelled")
STATES = (*OPEN_STATES, *TERMINAL_STATES)

log = structlog.get_logger(__name__)


# Sent when a job is paused, resumed, postponed or ends, with ``job``, whose fields may be outdated, and its ``state``.
# Who creates a job that clients follow sends it too.
job_changed = Signal()


class ClaimLost(Exception):
    """The job was cancelled, paused, deleted or claimed by another worker."""


M = TypeVar("M", bound="Job", covariant=True)
J = TypeVar("J", bound="Job")


class JobQuerySet(OwnedQuerySet[M]):
    def active(self) -> Self:
        """Return the jobs that are queued or running."""
        return self.filter(state__in=ACTIVE_STATES)

    def open(self) -> Self:
        """Return the jobs that have not ended."""
        return self.filter(state__in=OPEN_STATES)


class Job(OwnedModel):
    """Background job of a user. See the module's docstring for its states."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        PAUSED = "paused", _("Paused")
        SUCCEEDED = "succeeded", _("Succeeded")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    # Whether another worker may continue a job whose worker died. If not, call fail_orphans before take_overdue.
    revivable: ClassVar[bool] = True
    # Whether it also runs while its owner is suspended.
    runs_suspended: ClassVar[bool] = False
    # Values that fields get when no worker owns the job any more.
    idle_fields: ClassVar[dict[str, Any]] = {}

    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)
    error = models.TextField(blank=True, default="")
    claim = models.UUIDField(null=True, blank=True, help_text="Identifies the worker that owns the job.")
    claims = models.PositiveIntegerField(default=0, help_text="Workers that claimed it since it last made progress.")
    claimed_at = models.DateTimeField(null=True, blank=True, help_text="When a worker last claimed it.")
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    wait_until = models.DateTimeField(null=True, blank=True, help_text="A queued job is not claimed before.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    objects = OwnedManager.from_queryset(JobQuerySet)()  # type: ignore[assignment, misc]

    class Meta:
        abstract = True

    @classmethod
    def claimable(cls, now: dt.datetime) -> Q:
        """Return the condition under which a worker may claim a job."""
        orphaned = Q(state=cls.State.RUNNING) & _without_heartbeat(now)
        queued = Q(state=cls.State.QUEUED) & (Q(wait_until=None) | Q(wait_until__lte=now))
        return queued | orphaned if cls.revivable else queued

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE_STATES

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    @property
    def is_waiting(self) -> bool:
        """Return whether the job is queued for a later time."""
        return self.state == self.State.QUEUED and self.wait_until is not None and self.wait_until > timezone.now()


def lock_owner(owner: Owner) -> None:
    """Lock the user's row until the transaction ends, so that their jobs are created one at a time."""
    get_user_model().objects.select_for_update(no_key=True).get(pk=owner_id_of(owner))


def claim(model: type[J], job_id: UUID, **fields: Any) -> J | None:
    """Claim a job for this worker and update ``fields``. Return None if there is no such job to claim.

    What follows in the same task sees the rows of the job's owner only.
    """
    now = timezone.now()
    with system_scope():
        candidates = model.objects.filter(model.claimable(now), pk=job_id)
        candidates.filter(claims__gte=MAX_CLAIMS).update(
            state=Job.State.FAILED,
            error=gettext_noop("Its worker stopped %(times)s times at the same step.") % {"times": MAX_CLAIMS},
            claim=None,
            finished_at=now,
            **model.idle_fields,
        )
        claimed = candidates.filter(claims__lt=MAX_CLAIMS).update(
            state=Job.State.RUNNING,
            claim=uuid.uuid4(),
            claims=F("claims") + 1,
            claimed_at=now,
            heartbeat_at=now,
            wait_until=None,
            error="",
            started_at=Coalesce("started_at", now),
            **fields,
        )
        rows: Any = model.objects.filter(pk=job_id)
        job = rows.first() if claimed else None
    if job is not None:
        restrict(job.owner_id)
        # Of the task that runs it, whose context begins empty; a job that follows in the same task replaces it.
        structlog.contextvars.bind_contextvars(job=f"{model._meta.model_name} {job_id}")
    return job


@dataclass(frozen=True)
class Kind:
    """Kind of job that workers of ``queue`` execute.

    ``execute`` runs a claimed job for a time slice, and returns True if it re-queued the job. ``send`` enqueues a
    message for the job with the given id.
    """

    model: type[Job]
    queue: str
    execute: Callable[[Any], bool]
    send: Callable[[UUID], object]


kinds: Registry[Kind] = Registry()


def run_next(queue: str) -> None:
    """Run the next job of a queue for a time slice, and enqueue a message if it is not finished then."""
    by_model = {kind.model: kind for kind in kinds if kind.queue == queue}
    job = claim_next(list(by_model))
    if job is not None and by_model[type(job)].execute(job):
        by_model[type(job)].send(job.pk)


def claim_next(models: Sequence[type[Job]]) -> Job | None:
    """Claim the next job of ``models``; owners take turns. Return None if there is none to claim.

    First come owners with the fewest running jobs, then those whose last turn is the longest ago; of an owner's jobs
    those of the model that is named first, then the one that has waited longest.
    """
    while found := _next_in_turn(models):
        if job := claim(*found):  # else another worker was faster, or it was claimed too often
            return job
    return None


def _next_in_turn(models: Sequence[type[Job]]) -> tuple[type[Job], UUID] | None:
    now = timezone.now()
    waiting: dict[UUID, tuple[dt.datetime, type[Job], UUID]] = {}  # each owner's next job
    running: Counter[UUID] = Counter()
    last_turns: dict[UUID, dt.datetime] = {}
    with system_scope():
        for model in models:
            rows = model.objects.filter(model.claimable(now), owner__is_active=True)
            rows = rows.annotate(since=Coalesce("claimed_at", "created_at"))
            if not model.runs_suspended:
                rows = rows.exclude(owner__suspended_until__gt=now)
            firsts = rows.order_by("owner_id", "since", "pk").distinct("owner_id")
            for owner, since, pk in firsts.values_list("owner_id", "since", "pk"):
                waiting.setdefault(owner, (since, model, pk))
            recent = model.objects.filter(claimed_at__gt=now - TURN_PERIOD).values_list("owner_id")
            # A job whose worker died does not run, and its owner would come after all others while they have any.
            is_running = Q(state=Job.State.RUNNING) & ~_without_heartbeat(now)
            turns = recent.annotate(last=Max("claimed_at"), running=Count("pk", filter=is_running))
            for owner, last, count in turns:
                running[owner] += count
                last_turns[owner] = max(last, last_turns.get(owner, last))
    if not waiting:
        return None
    never = now - TURN_PERIOD
    owner = min(waiting, key=lambda owner: (running[owner], last_turns.get(owner, never), waiting[owner][0]))
    return waiting[owner][1:]


def owned(job: J) -> JobQuerySet[J]:
    """Return the job's row as a queryset that is empty once this worker has lost the job."""
    rows: JobQuerySet[Any] = type(job).objects.for_owner(job.owner_id)
    return rows.filter(pk=job.pk, claim=job.claim, state=Job.State.RUNNING)


def heartbeat(job: Job, **fields: Any) -> None:
    """Record a heartbeat and update ``fields``. Raise ClaimLost if this worker no longer owns the job."""
    if not owned(job).update(heartbeat_at=timezone.now(), **fields):
        raise ClaimLost


def requeue(job: Job) -> None:
    """Put a job that this worker owns back into the queue, so that other jobs can run."""
    owned(job).update(state=Job.State.QUEUED, claim=None, claims=0, heartbeat_at=timezone.now())


def postpone(job: Job, error: str, until: dt.datetime | None, **fields: Any) -> None:
    """Put a job that this worker owns back into the queue until a time, or pause it if ``until`` is None."""
    state = Job.State.PAUSED if until is None else Job.State.QUEUED
    fields = type(job).idle_fields | fields
    fields |= {"wait_until": until, "claim": None, "claims": 0, "heartbeat_at": timezone.now()}
    if owned(job).update(state=state, error=error, **fields):
        job_changed.send(type(job), job=job, state=state)


def end(job: Job, state: str, error: str = "", **fields: Any) -> bool:
    """End a job that this worker owns. Return False if it no longer owns it."""
    fields = type(job).idle_fields | fields
    ended = bool(owned(job).update(state=state, error=error, finished_at=timezone.now(), **fields))
    if ended:
        count("loci_jobs_ended_total", kind=type(job)._meta.model_name, state=state)
        job_changed.send(type(job), job=job, state=state)
    return ended


@contextmanager
def fail_on_error(job: Job, *expected: type[Exception]) -> Iterator[None]:
    """End a claimed job as failed if the block raises.

    ``expected`` errors give the job's error text, ClaimLost leaves the job to its new owner; neither is re-raised.
    Any other error fails the job and is re-raised, so that it is logged.
    """
    try:
        yield
    except ClaimLost:
        log.info("job_claim_lost", job=str(job.pk), kind=type(job).__name__)
    except expected as error:
        end(job, Job.State.FAILED, str(error))
    except (OperationalError, InterfaceError):
        # The database may be gone, so that no failure can be recorded. The job will be claimed again, but not more than
        # MAX_CLAIMS times if the error recurs.
        raise
    except Exception as error:
        if not _is_worker_ending(error):  # else the job will be claimed again, as after a database error
            end(job, Job.State.FAILED, gettext_noop("Something went wrong on our side. Try again later."))
        raise


def _is_worker_ending(error: BaseException | None) -> bool:
    """Return whether the error was raised while SystemExit was handled: by a signal in the midst of a statement."""
    while error is not None and not isinstance(error, SystemExit):
        error = error.__context__
    return error is not None


def cancel(job: J) -> J:
    """Cancel a job that has not ended. Its worker stops at the next heartbeat; what it wrote is kept."""
    return _transition(job, OPEN_STATES, state=Job.State.CANCELLED, claim=None, finished_at=timezone.now())


def pause(job: J) -> J:
    """Pause a job. Its worker stops at the next heartbeat, and an unfinished step is repeated after ``resume``."""
    return _transition(job, ACTIVE_STATES, state=Job.State.PAUSED, claim=None)


def resume(job: J) -> J:
    """Put a paused job back into the queue, and end the wait of a queued one."""
    return _transition(
        job, ("paused", "queued"), state=Job.State.QUEUED, claims=0, heartbeat_at=timezone.now(), wait_until=None
    )


def _transition(job: J, states: tuple[str, ...], **fields: Any) -> J:
    """Update a job that is in one of ``states``. Return it with its current values."""
    row = type(job).objects.for_owner(job.owner_id).filter(pk=job.pk)
    changed = row.filter(state__in=states).update(**type(job).idle_fields | fields)
    job.refresh_from_db()
    if changed:
        job_changed.send(type(job), job=job, state=job.state)
    return job


def fail_orphans(model: type[Job], error: str) -> None:
    """Fail the running jobs that have lost their worker."""
    now = timezone.now()
    with system_scope():
        orphans = model.objects.filter(_without_heartbeat(now), state=Job.State.RUNNING)
        orphans.update(state=Job.State.FAILED, claim=None, error=error, finished_at=now, **model.idle_fields)


def take_overdue(model: type[Job]) -> list[UUID]:
    """Return the ids of jobs to send to a worker: queued for too long, without a heartbeat, or whose wait is over.

    A queued job's wait ends here, and it gets a heartbeat: its message may still be in a long queue, and each sweep
    would add another one.
    """
    now = timezone.now()
    overdue = Q(heartbeat_at=None, created_at__lt=now - _timeout()) | Q(heartbeat_at__lt=now - _timeout())
    overdue = (overdue & Q(wait_until=None)) | Q(wait_until__lte=now)
    with system_scope():
        ids = list(model.objects.filter(overdue).active().values_list("pk", flat=True))
        model.objects.filter(pk__in=ids, state=Job.State.QUEUED).update(heartbeat_at=now, wait_until=None)
    return ids


def _without_heartbeat(now: dt.datetime) -> Q:
    return Q(heartbeat_at=None) | Q(heartbeat_at__lt=now - _timeout())


def _timeout() -> dt.timedelta:
    return dt.timedelta(seconds=settings.RUN_HEARTBEAT_TIMEOUT)
