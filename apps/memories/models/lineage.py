"""How a chat remembers: its mode, and what a branch took over from its parent."""

from django.contrib.postgres.fields import ArrayField
from django.db import models

from apps.chats.models import Chat, Message
from apps.common.scoping import OwnedModel
from apps.memories.models.memory import Memory


class ChatMemory(OwnedModel):
    """How one chat remembers. No row: it learns from all that was said."""

    class Mode(models.TextChoices):
        FULL = "full", "Remember and recall"
        READ_ONLY = "read_only", "Recall, learn nothing new"

    chat = models.OneToOneField(Chat, on_delete=models.CASCADE, related_name="memory")
    mode = models.CharField(max_length=16, choices=Mode.choices, default=Mode.FULL)
    read_only_since = models.ForeignKey(
        Message,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The last one learnt from.",
    )
    fresh_start = models.ForeignKey(
        Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+", help_text="The last one before it."
    )
    updated_at = models.DateTimeField(auto_now=True)


class Inheritance(OwnedModel):
    """A memory that a branch took over from its parent, by reference; what becomes of it in the branch stands here."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="inheritances", db_index=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="inheritances")
    message_ids = ArrayField(models.UUIDField(), default=list, help_text="The branch's copies of its sources.")
    state = models.CharField(max_length=16, choices=Memory.State.choices, default=Memory.State.ACTIVE)
    retired_reason = models.CharField(max_length=32, blank=True, default="")
    superseded_by = models.ForeignKey(Memory, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    valid_from = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    valid_to = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chat", "memory"], name="inheritance_once")]
        indexes = [models.Index("owner", "chat", "state", name="inheritance_owner_chat")]
