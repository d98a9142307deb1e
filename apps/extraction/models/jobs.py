"""Long work beside runs: testing a model, and making vectors anew."""

from django.db import models
from django.db.models import Q

from apps.common import clock
from apps.common.fields import OrderedJSONField
from apps.common.scoping import OwnedModel
from apps.llm.models import Connection


class Job(OwnedModel):
    """What long work has in common: its state, how far it is, and its sign of life."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    error = models.TextField(blank=True, default="")
    claim = models.UUIDField(null=True, blank=True)
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        abstract = True

    @property
    def is_active(self) -> bool:
        return self.state in (self.State.QUEUED, self.State.RUNNING)


class ModelTest(Job):
    """How well a model does what memories need, on fixed scenarios."""

    SCHEMA_VERSION = 1  # of ``results``

    connection = models.ForeignKey(Connection, on_delete=models.SET_NULL, null=True, blank=True, related_name="tests")
    backend = models.CharField(max_length=16, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    results = OrderedJSONField(default=dict, blank=True, help_text="What came of each tier, with its schema_version.")

    class Meta:
        indexes = [models.Index(fields=["owner", "-id"], name="model_test_owner")]  # the latest


class EmbeddingJob(Job):
    """Vectors of another model for all that an owner has: ``model`` is the one that they are made with."""

    model = models.CharField(max_length=100)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner"], condition=Q(state__in=["queued", "running"]), name="embedding_job_one_at_a_time"
            )
        ]
        indexes = [models.Index(fields=["owner", "-id"], name="embedding_job_owner")]  # the latest
