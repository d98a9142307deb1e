"""The abstract model of background jobs, its states, its kinds, and the place of a job in its queue."""

import datetime as dt
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Self, TypeVar
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models import Case, Count, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.common.database.fields import StoredTextField
from apps.common.registry import Registry
from apps.common.scoping import OwnedManager, OwnedModel, OwnedQuerySet, system_scope

ACTIVE_STATES = ("queued", "running")
OPEN_STATES = (*ACTIVE_STATES, "paused")
TERMINAL_STATES = ("succeeded", "failed", "cancelled")
STATES = (*OPEN_STATES, *TERMINAL_STATES)
PLACE = "Of a queued job: about how many turns it takes until it runs, 1 if it comes next. Else null."  # in the API
SINCE = Coalesce("claimed_at", "created_at")  # when a job began to wait for a turn

M = TypeVar("M", bound="Job", covariant=True)


class JobQuerySet(OwnedQuerySet[M]):
    def active(self) -> Self:
        """Return the jobs that are queued or running."""
        return self.filter(state__in=ACTIVE_STATES)

    def open(self) -> Self:
        """Return the jobs that have not ended."""
        return self.filter(state__in=OPEN_STATES)


class Job(OwnedModel):
    """Background job of a user. See the package's docstring for its states."""

    class State(models.TextChoices):
        QUEUED = "queued", _("Queued")
        RUNNING = "running", _("Running")
        PAUSED = "paused", _("Paused")
        SUCCEEDED = "succeeded", _("Succeeded")
        FAILED = "failed", _("Failed")
        CANCELLED = "cancelled", _("Cancelled")

    # Whether another worker may continue a job whose worker died. If not, call fail_orphans before take_lost.
    revivable: ClassVar[bool] = True
    # Whether it also runs while its owner is suspended.
    runs_suspended: ClassVar[bool] = False
    # Whether a person asked for it and waits: all jobs of this kind, none, or those that meet the condition.
    awaited: ClassVar[bool | Q] = False
    # Whether ``claimable`` limits how many of an owner run at once. A message that comes meanwhile leads to nothing.
    limits_owners: ClassVar[bool] = False
    # Values that fields get when no worker owns the job any more.
    idle_fields: ClassVar[dict[str, Any]] = {}

    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    done = models.PositiveBigIntegerField(default=0)
    total = models.PositiveBigIntegerField(default=0)
    error = StoredTextField(blank=True, default="")
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
        orphaned = Q(state=cls.State.RUNNING) & without_heartbeat(now)
        queued = Q(state=cls.State.QUEUED) & (Q(wait_until=None) | Q(wait_until__lte=now))
        return queued | orphaned if cls.revivable else queued

    @classmethod
    def is_awaited(cls) -> Case:
        """Return the expression for whether a person waits for a job."""
        condition = cls.awaited if isinstance(cls.awaited, Q) else Value(cls.awaited)
        return Case(When(condition, then=True), default=False, output_field=models.BooleanField())

    @classmethod
    def running_of_owner(cls, now: dt.datetime) -> Any:
        """Return the number of jobs of the row's owner that are running, as an expression."""
        running = cls.objects.filter(~without_heartbeat(now), owner=OuterRef("owner"), state=cls.State.RUNNING)
        counted = running.order_by().values("owner").annotate(count=Count("pk")).values("count")
        return Coalesce(Subquery(counted), 0)

    @property
    def is_active(self) -> bool:
        return self.state in ACTIVE_STATES

    @property
    def is_open(self) -> bool:
        return self.state in OPEN_STATES

    @property
    def place(self) -> int | None:
        """Return the job's place in its queue, as ``place_in_queue``."""
        return place_in_queue(self)

    @property
    def is_waiting(self) -> bool:
        """Return whether the job is queued for a later time."""
        return self.state == self.State.QUEUED and self.wait_until is not None and self.wait_until > timezone.now()


def without_heartbeat(now: dt.datetime) -> Q:
    """Return the condition that a job has lost its worker, if it is running."""
    return Q(heartbeat_at=None) | Q(heartbeat_at__lt=now - heartbeat_timeout())


def heartbeat_timeout() -> dt.timedelta:
    """Return the time after which a worker that gave no heartbeat has lost its job."""
    return dt.timedelta(seconds=settings.RUN_HEARTBEAT_TIMEOUT)


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


def queue_of(model: type[Job], job_id: UUID) -> str:
    """Return the queue whose workers run a job."""
    *others, last = [kind for kind in kinds if kind.model is model]
    with system_scope():
        found = [kind.queue for kind in others if model.objects.filter(kind.only(), pk=job_id).exists()]
    return [*found, last.queue][0]


def place_in_queue(job: Job) -> int | None:
    """Return about how many turns it takes until a job runs if none is added: 1 if it comes next.

    Return None unless it waits for a worker, and if its kind takes no turns.
    """
    takes_turns = any(kind.model is type(job) for kind in kinds)
    if not takes_turns or job.state != Job.State.QUEUED or job.is_waiting:
        return None
    queue = queue_of(type(job), job.pk)
    of_queue = [kind for kind in kinds if kind.queue == queue]
    with system_scope():
        own = _order_of_own(of_queue, job.owner_id)
        others = _counts_of_others(of_queue, job.owner_id)
    place = own.index(job.pk) + 1 if job.pk in own else 1  # it may have begun a moment ago
    return place + sum(min(place, count) for count in others)


def _order_of_own(of_queue: Sequence[Kind], owner_id: UUID) -> list[UUID]:
    """Return the owner's jobs that wait, in the order of their turns: what is awaited first, the kinds by turns."""
    turns = []
    for kind in of_queue:
        rows: Any = kind.model.objects.filter(_is_queued(), kind.only(), owner=owner_id)
        rows = rows.annotate(since=SINCE, is_asked=kind.model.is_awaited())
        numbers: Counter[bool] = Counter()
        for is_awaited, since, pk in rows.order_by("since", "pk").values_list("is_asked", "since", "pk"):
            numbers[is_awaited] += 1
            turns.append((not is_awaited, numbers[is_awaited], since, pk))
    return [pk for *_, pk in sorted(turns)]


def _counts_of_others(of_queue: Sequence[Kind], owner_id: UUID) -> list[int]:
    """Return how many jobs of each other owner wait."""
    counts: Counter[UUID] = Counter()
    for kind in of_queue:
        rows = kind.model.objects.filter(_is_queued(), kind.only(), owner__is_active=True).exclude(owner=owner_id)
        counts.update(dict(rows.order_by().values_list("owner_id").annotate(Count("pk"))))
    return list(counts.values())


def _is_queued() -> Q:
    return Q(state=Job.State.QUEUED) & (Q(wait_until=None) | Q(wait_until__lte=timezone.now()))
