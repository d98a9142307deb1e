"""Models of extraction: runs with their steps and calls, what has been read, other jobs, settings, prompt templates."""

import datetime as dt
from typing import ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import OuterRef, Q, Subquery
from django.db.models.functions import Coalesce, Least
from django.db.models.lookups import LessThan
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Character, Chat, Message
from apps.common.database.fields import OrderedJSONField, StoredTextField
from apps.common.jobs import ACTIVE_STATES, OPEN_STATES, Job
from apps.common.scoping import OwnedModel
from apps.llm.models import Connection
from apps.llm.queries import embeds_on_server, uses_server

UNUSED = "unused"  # the count of lines of replies that could not be used
DOUBTED = "doubted"  # the count of messages in which a model found nothing, so that the built-in reader read them
BACKED_OFF = "backed_off"  # the count of texts that a model is not asked for again so soon
# Counts of a run that say nothing of what it was told.
MADE_IN_ANY_CASE = frozenset({"scenes", "summary", "profiles", "canon", "contradictions", UNUSED, DOUBTED, BACKED_OFF})


class ExtractionRun(Job):
    """One pass of the pipeline over the new messages of a chat. ``done`` and ``total`` are steps."""

    class WaitReason(models.TextChoices):
        SERVER = "server", _("The model's server did not answer.")
        LIMIT = "limit", _("The daily token limit is reached.")
        CONNECTION = "connection", _("The connection to the model must be corrected.")
        AGREEMENT = "agreement", _("The cost must be agreed to.")

    awaited = Q(asked=True)
    idle_fields: ClassVar = {"stage": "", "waits_for": ""}
    limits_owners: ClassVar = True
    extended: bool = False  # not stored: what a person asked for was added to it just now
    unsent: bool = False  # not stored: it was put into the queue just now, so that no message is on its way

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="runs", db_index=False)
    stage = models.CharField(max_length=32, blank=True, default="")
    tiers = ArrayField(models.CharField(max_length=16), default=list)
    asked = models.BooleanField(default=False, help_text="Whether a person asked for it and waits.")
    again = models.BooleanField(default=False, help_text="Whether messages that were read before are read again.")
    backend = models.CharField(max_length=16, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    first = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, related_name="+")
    last = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, related_name="+")
    chat_rev = models.PositiveBigIntegerField(default=0, help_text="The chat's rev when the window was fixed.")
    counts = models.JSONField(default=dict)
    llm = models.JSONField(default=dict, help_text="Number of model calls, and their tokens.")
    waits_for = models.CharField(
        max_length=16, choices=WaitReason.choices, blank=True, default="", help_text="Why it waits or is paused."
    )
    waits = models.PositiveSmallIntegerField(default=0, help_text="Waits for the server since the last finished step.")
    estimate = models.JSONField(default=dict, help_text="Expected model calls, tokens and cost.")
    dismissed = models.BooleanField(default=False, help_text="Its failure is not shown on the chat page any more.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chat"], condition=Q(state__in=OPEN_STATES), name="run_one_a_chat"),
        ]
        indexes = [
            models.Index(fields=["owner", "chat", "-id"], name="run_owner_chat"),  # for the chat's latest run
            models.Index("claimed_at", name="run_claimed"),  # for the owners' latest turns
            models.Index(
                "heartbeat_at", condition=Q(state__in=ACTIVE_STATES), name="run_alive"
            ),  # for workers, and the sweep
        ]

    @classmethod
    def claimable(cls, now: dt.datetime) -> Q:
        """Return the condition under which a worker may claim a run.

        An owner's runs that would only wait for a place on the connection stay in the queue, and so do those above the
        owner's share of the places where servers are waited for: each would keep a place from the runs of others.
        """
        connection = Connection.objects.filter(owner=OuterRef("owner"), for_generation=True)
        share = settings.MODEL_PLACES_OF_OWNER
        places = Least(Coalesce(Subquery(connection.values("parallel_calls")), share), share)
        has_place = Q(LessThan(cls.running_of_owner(now), places))
        return super().claimable(now) & (~uses_server() | has_place)

    @property
    def kept(self) -> int:
        """Return how many new memories the run made."""
        return self.counts.get("passed", 0) + self.counts.get("superseded", 0)

    @property
    def messages_read(self) -> int:
        """Return the length of the part of the chat that the run has read."""
        return self.last.index - self.first.index + 1 if self.first and self.last else 0

    @property
    def kept_nothing(self) -> bool:
        """Return whether the run has read messages to its end, and nothing that it was told could become a memory.

        What it repeated or rejected was told. Scenes and texts, such as the summary, are made in any case.
        """
        told = sum(count for name, count in self.counts.items() if name not in MADE_IN_ANY_CASE)
        return self.state == self.State.SUCCEEDED and self.messages_read > 0 and not told


class RunStep(OwnedModel):
    """Finished stage of a run over one window of messages; in a group chat, for one character."""

    run = models.ForeignKey(ExtractionRun, on_delete=models.CASCADE, related_name="steps", db_index=False)
    stage = models.CharField(max_length=32)
    window = models.CharField(max_length=64, help_text="Hash of the messages that were read.")
    character = models.ForeignKey(Character, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    first = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, related_name="+")
    last = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, related_name="+")
    unused_lines = ArrayField(models.TextField(), default=list)
    error = StoredTextField(blank=True, default="", help_text="Why the model refused to read the messages.")
    counts = models.JSONField(default=dict)
    finished_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["run", "stage", "window", "character"], name="step_once_a_run", nulls_distinct=False
            )
        ]


class ModelCall(OwnedModel):
    """Call of a model in a run: its raw reply or its error. Saved at once, even if the step fails later."""

    run = models.ForeignKey(ExtractionRun, on_delete=models.CASCADE, related_name="calls", db_index=False)
    stage = models.CharField(max_length=32)
    task = models.CharField(max_length=32)
    key = models.CharField(max_length=64, blank=True, default="", help_text="Hash of what the model was asked.")
    offered = models.JSONField(default=dict, help_text="Ids by the numbers that the prompt showed.")
    reply = models.TextField(blank=True, default="")
    reasoning = models.TextField(blank=True, default="")
    error = StoredTextField(blank=True, default="")
    unusable = models.BooleanField(default=False, help_text="Whether a reply came that can't be used.")
    prompt_tokens = models.PositiveIntegerField(default=0)
    completion_tokens = models.PositiveIntegerField(default=0)
    seconds = models.FloatField(default=0)
    at = models.DateTimeField(default=timezone.now)

    class Meta:
        indexes = [
            models.Index("run", "id", name="call_run"),  # for the calls on the run's page
            models.Index("owner", "key", condition=~Q(key=""), name="call_key"),  # for replies that can be used again
        ]


class ExtractionProgress(OwnedModel):
    """Tiers that have read a message, and its fingerprint at that time, by which later changes are detected."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="progress", db_index=False)
    message = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="progress")
    fingerprint = models.CharField(max_length=32)
    tiers = ArrayField(models.CharField(max_length=16), default=list)
    refused = ArrayField(
        models.CharField(max_length=16), default=list, help_text="Tiers for which the model refused to read it."
    )

    class Meta:
        indexes = [models.Index("owner", "chat", name="progress_owner_chat")]  # for the messages to extract


class ModelTest(Job):
    """Test of how well a model extracts memories from fixed scenarios."""

    SCHEMA_VERSION = 1  # of ``results``
    revivable = False  # an incomplete test gives no score; it must be started again

    connection = models.ForeignKey(Connection, on_delete=models.SET_NULL, null=True, blank=True, related_name="tests")
    backend = models.CharField(max_length=16, blank=True, default="")
    model = models.CharField(max_length=200, blank=True, default="")
    results = OrderedJSONField(default=dict, blank=True, help_text="Scores of each tier, with a schema_version.")

    class Meta:
        indexes = [models.Index(fields=["owner", "-id"], name="model_test_owner")]  # for the latest test


class EmbeddingJob(Job):
    """Job that recomputes an owner's embeddings with ``model``."""

    model = models.CharField(max_length=220)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner"], condition=Q(state__in=ACTIVE_STATES), name="embedding_job_one_at_a_time"
            )
        ]
        indexes = [models.Index(fields=["owner", "-id"], name="embedding_job_owner")]  # for the latest job

    @property
    def model_name(self) -> str:
        """Return the name of the model without its vector space."""
        return self.model.rpartition("#")[0] or self.model


class IndexJob(Job):
    """Job that indexes the messages of a chat. ``done`` are passages written, ``total`` the chat's messages."""

    limits_owners: ClassVar = True

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="index_jobs", db_index=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chat"], condition=Q(state__in=ACTIVE_STATES), name="index_job_one_a_chat")
        ]
        indexes = [models.Index("chat", name="index_job_chat")]  # for the chat's ended job

    @classmethod
    def claimable(cls, now: dt.datetime) -> Q:
        """Return the condition under which a worker may claim a job: of an owner's server, within their share."""
        has_place = Q(LessThan(cls.running_of_owner(now), settings.MODEL_PLACES_OF_OWNER))
        return super().claimable(now) & (~embeds_on_server() | has_place)


class ScopedSettings(OwnedModel):
    """Abstract base of settings of a user, or of one of their characters or chats, that differ from the defaults."""

    character = models.OneToOneField(Character, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    chat = models.OneToOneField(Chat, on_delete=models.CASCADE, null=True, blank=True, related_name="+")
    document = OrderedJSONField(default=dict, help_text="Changed settings only, with a schema_version.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        abstract = True
        constraints = [
            models.UniqueConstraint(fields=["owner", "character", "chat"], name="%(class)s_once", nulls_distinct=False),
            models.CheckConstraint(condition=Q(character__isnull=True) | Q(chat__isnull=True), name="%(class)s_of_one"),
        ]


class MemorySettings(ScopedSettings):
    """Memory settings of a user, a character or a chat."""

    class Meta(ScopedSettings.Meta):
        verbose_name_plural = "memory settings"


class PromptTemplate(OwnedModel):
    """Prompt template of a user that replaces the built-in one of a task."""

    task = models.CharField(max_length=32)
    text = models.TextField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "task"], name="prompt_template_once")]
