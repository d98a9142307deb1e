"""The runs of the pipeline, their steps, what models replied in them, and what has been read."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from apps.chats.models import Character, Chat, Message
from apps.common import clock
from apps.common.scoping import OwnedModel


class ExtractionRun(OwnedModel):
    """One pass of the pipeline over what is new in a chat. Celery carries only its id."""

    class State(models.TextChoices):
        QUEUED = "queued"
        RUNNING = "running"
        PAUSED = "paused"
        SUCCEEDED = "succeeded"
        FAILED = "failed"
        CANCELLED = "cancelled"

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="runs", db_index=False)
    state = models.CharField(max_length=16, choices=State.choices, default=State.QUEUED)
    stage = models.CharField(max_length=32, blank=True, default="")
    tiers = ArrayField(models.CharField(max_length=16), default=list)
    again = models.BooleanField(default=False, help_text="Whether what was read before is read again.")
    backend = models.CharField(max_length=16, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    first = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, related_name="+")
    last = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, related_name="+")
    chat_rev = models.PositiveBigIntegerField(default=0, help_text="The chat's rev when the window was fixed.")
    done = models.PositiveIntegerField(default=0)
    total = models.PositiveIntegerField(default=0)
    counts = models.JSONField(default=dict)
    llm = models.JSONField(default=dict)
    error = models.TextField(blank=True, default="")
    claim = models.UUIDField(null=True, blank=True, help_text="Names the worker that is at it.")
    claims = models.PositiveIntegerField(default=0, help_text="Workers that took it since its last finished step.")
    heartbeat_at = models.DateTimeField(null=True, blank=True)
    started_at = models.DateTimeField(null=True, blank=True)
    finished_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chat"], condition=Q(state__in=["queued", "running", "paused"]), name="run_one_a_chat"
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "chat", "-id"], name="run_owner_chat"),  # the chat's latest run
            models.Index("heartbeat_at", condition=Q(state__in=["queued", "running"]), name="run_alive"),
        ]

    @property
    def is_active(self) -> bool:
        """Whether a worker is at it or will be."""
        return self.state in (self.State.QUEUED, self.State.RUNNING)

    @property
    def is_open(self) -> bool:
        """Whether it has not ended: it goes on, or waits to be resumed."""
        return self.is_active or self.state == self.State.PAUSED

    @property
    def kept(self) -> int:
        """How many new memories it made."""
        return self.counts.get("passed", 0) + self.counts.get("superseded", 0)


class RunStep(OwnedModel):
    """A finished stage of a run over one chunk of messages, in a group for one of its characters."""

    run = models.ForeignKey(ExtractionRun, on_delete=models.CASCADE, related_name="steps", db_index=False)
    stage = models.CharField(max_length=32)
    window = models.CharField(max_length=64, help_text="Which messages were read, as they were.")
    character = models.ForeignKey(Character, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    first = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, related_name="+")
    last = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, related_name="+")
    unused_lines = ArrayField(models.TextField(), default=list)
    counts = models.JSONField(default=dict)
    finished_at = models.DateTimeField(default=clock.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "stage", "window", "character"], name="step_once_a_run", nulls_distinct=False
            )
        ]


class ModelCall(OwnedModel):
    """One call of a model: what it replied, as it came, or why it failed. Written at once, whatever comes of it."""

    run = models.ForeignKey(ExtractionRun, on_delete=models.CASCADE, related_name="calls", db_index=False)
    stage = models.CharField(max_length=32)
    task = models.CharField(max_length=32)
    reply = models.TextField(blank=True, default="")
    reasoning = models.TextField(blank=True, default="")
    error = models.TextField(blank=True, default="")
    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    seconds = models.FloatField(default=0)
    at = models.DateTimeField(default=clock.now)

    class Meta:
        indexes = [models.Index("run", "id", name="call_run")]  # the run's page


class ExtractionProgress(OwnedModel):
    """Which tiers have read a message, and as what: another fingerprint, and it has changed since."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="progress", db_index=False)
    message = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="progress")
    fingerprint = models.CharField(max_length=32)
    tiers = ArrayField(models.CharField(max_length=16), default=list)

    class Meta:
        indexes = [models.Index("owner", "chat", name="progress_owner_chat")]  # what is new in a chat
