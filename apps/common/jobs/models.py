"""The abstract model of background jobs, and its states."""

import datetime as dt
from typing import Any, ClassVar, Self, TypeVar

from django.conf import settings
from django.db import models
from django.db.models import Case, Count, OuterRef, Q, Subquery, Value, When
from django.db.models.functions import Coalesce
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.common.database.fields import StoredTextField
from apps.common.scoping import OwnedManager, OwnedModel, OwnedQuerySet

ACTIVE_STATES = ("queued", "running")
OPEN_STATES = (*ACTIVE_STATES, "paused")
TERMINAL_STATES = ("succeeded", "failed", "cancelled")
STATES = (*OPEN_STATES, *TERMINAL_STATES)

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
        from apps.common.jobs.places import place_in_queue  # which knows the kinds of jobs, and they this class

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
