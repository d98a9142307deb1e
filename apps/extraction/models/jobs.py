"""Background jobs of a user: tests of models, recomputed embeddings, and the search index of chats."""

import datetime as dt
from typing import ClassVar

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.lookups import LessThan

from apps.chats.models import Chat
from apps.common.database.fields import OrderedJSONField
from apps.common.jobs import ACTIVE_STATES, Job
from apps.llm.models import Connection
from apps.llm.queries import embeds_on_server


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
