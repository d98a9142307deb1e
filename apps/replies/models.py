"""Generations: replies of a model, with the text received so far. Presets: how a reply is asked for."""

import datetime as dt
from typing import Any, ClassVar

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models.lookups import LessThan
from django.utils import timezone

from apps.chats.models import Character, Chat, Message
from apps.common.database.fields import OrderedJSONField
from apps.common.jobs import ACTIVE_STATES, Job, JobQuerySet
from apps.common.scoping import OwnedManager, OwnedModel
from apps.replies.preset_numbers import NUMBERS

MAX_STOPS = 4  # as many as OpenAI's API takes
MAX_STOP_LENGTH = 100


class GenerationPreset(OwnedModel):
    """How a reply is asked for. The defaults are those of a user without a preset.

    The texts may have macros. They stand for those of a card that has none, and where a card says ``{{original}}``.
    """

    name = models.CharField(max_length=200)
    is_default = models.BooleanField(default=False, help_text="Used where no preset is chosen.")
    temperature = models.FloatField(default=NUMBERS["temperature"].default)
    top_p = models.FloatField(null=True, blank=True, help_text="Null: the server's own.")
    top_k = models.PositiveIntegerField(null=True, blank=True, help_text="Null: the server's own.")
    min_p = models.FloatField(null=True, blank=True, help_text="Null: the server's own.")
    repetition_penalty = models.FloatField(null=True, blank=True, help_text="Null: the server's own.")
    max_tokens = models.PositiveIntegerField(default=NUMBERS["max_tokens"].default)
    stop = ArrayField(models.CharField(max_length=MAX_STOP_LENGTH), default=list, blank=True, size=MAX_STOPS)
    system_prompt = models.TextField(blank=True, default="")
    post_history_instructions = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner"], condition=models.Q(is_default=True), name="generation_preset_one_default"
            ),
            models.CheckConstraint(
                condition=models.Q(temperature__range=(0.0, NUMBERS["temperature"].high)),
                name="generation_preset_temperature",
            ),
            models.CheckConstraint(
                condition=models.Q(top_p=None) | models.Q(top_p__range=(0.0, 1.0)), name="generation_preset_top_p"
            ),
            models.CheckConstraint(
                condition=models.Q(top_k=None) | models.Q(top_k__range=(0, NUMBERS["top_k"].high)),
                name="generation_preset_top_k",
            ),
            models.CheckConstraint(
                condition=models.Q(min_p=None) | models.Q(min_p__range=(0.0, 1.0)), name="generation_preset_min_p"
            ),
            models.CheckConstraint(
                condition=models.Q(repetition_penalty=None)
                | models.Q(repetition_penalty__range=(0.0, NUMBERS["repetition_penalty"].high)),
                name="generation_preset_repetition_penalty",
            ),
            models.CheckConstraint(condition=models.Q(max_tokens__gte=1), name="generation_preset_max_tokens"),
        ]
        indexes = [models.Index("owner", "name", name="generation_preset_owner_name")]  # the list


class Generation(Job):
    """A reply of a model to a chat. ``cancelled`` means that it was stopped.

    ``text`` is what the model has said so far. The message has ``prefix`` and ``text``; ``stored_text`` is what was
    last written to it, so that an edit by another client is recognised and kept.
    """

    class Mode(models.TextChoices):
        REPLY = "reply"
        SWIPE = "swipe"
        CONTINUE = "continue"
        IMPERSONATE = "impersonate"

    revivable: ClassVar[bool] = False
    limits_owners: ClassVar[bool] = True

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="generations", db_index=False)
    message = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    follows = models.ForeignKey(
        Message,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The last message of the prompt; the reply is stored after it.",
    )
    character = models.ForeignKey(Character, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    preset = models.ForeignKey(
        GenerationPreset,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="Null: the default preset.",
    )
    speaker = models.CharField(max_length=200, blank=True, default="")
    mode = models.CharField(max_length=16, choices=Mode.choices, default=Mode.REPLY)
    prefix = models.TextField(blank=True, default="", help_text="The message's text before it is continued.")
    text = models.TextField(blank=True, default="")
    stored_text = models.TextField(blank=True, default="", help_text="Last written to the message.")
    then_reply = models.BooleanField(
        default=False, help_text="The user wrote on meanwhile: once it has ended, that is answered."
    )
    settled = models.BooleanField(default=False, help_text="It has ended, and its message has all of its text.")
    dismissed = models.BooleanField(default=False, help_text="Its failure is not shown on the chat page any more.")
    usage = OrderedJSONField(default=dict, blank=True)

    objects: ClassVar[Any] = OwnedManager.from_queryset(JobQuerySet)()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["chat"], condition=models.Q(state__in=ACTIVE_STATES), name="generation_one_active"
            )
        ]
        indexes = [
            models.Index(fields=["owner", "chat", "-id"], name="generation_owner_chat"),  # the newest of a chat
            models.Index("state", "heartbeat_at", name="generation_state"),  # the sweep, over all owners
            models.Index("id", name="generation_unsettled", condition=models.Q(settled=False)),  # likewise
        ]

    @classmethod
    def claimable(cls, now: dt.datetime) -> models.Q:
        """Return the condition under which a worker may claim a generation: within its owner's share of the places."""
        has_place = models.Q(LessThan(cls.running_of_owner(now), settings.MODEL_PLACES_OF_OWNER))
        return super().claimable(now) & has_place
