"""Generations: replies of a model, with the text received so far."""

from typing import Any, ClassVar

from django.db import models

from apps.chats.models import Character, Chat, Message
from apps.common.fields import OrderedJSONField
from apps.common.jobs import ACTIVE_STATES, Job, JobQuerySet
from apps.common.scoping import OwnedManager


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

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="generations", db_index=False)
    message = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    character = models.ForeignKey(Character, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    speaker = models.CharField(max_length=200, blank=True, default="")
    mode = models.CharField(max_length=16, choices=Mode.choices, default=Mode.REPLY)
    prefix = models.TextField(blank=True, default="", help_text="The message's text before it is continued.")
    text = models.TextField(blank=True, default="")
    stored_text = models.TextField(blank=True, default="", help_text="Last written to the message.")
    settled = models.BooleanField(default=False, help_text="It has ended, and its message has all of its text.")
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
