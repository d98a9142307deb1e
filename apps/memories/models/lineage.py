"""Models of a chat's memory mode, of memories that a branch inherits, and of those replaced by another story."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from apps.chats.models import Chat, Message
from apps.common.scoping import OwnedModel
from apps.memories.models.memory import Memory, RetiredReason


class ChatMemory(OwnedModel):
    """The memory mode of a chat. A chat without a row is in FULL mode and never had a fresh start."""

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
        help_text="The last message it learnt from.",
    )
    fresh_start = models.ForeignKey(
        Message,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="+",
        help_text="The last message before the fresh start.",
    )
    updated_at = models.DateTimeField(auto_now=True)

    @classmethod
    def of_chat(cls, chat: Chat) -> "ChatMemory":
        """Return the chat's row, or an unsaved one with the defaults."""
        found: ChatMemory | None = cls.objects.for_owner(chat.owner_id).filter(chat=chat).first()
        return found or cls(owner_id=chat.owner_id, chat=chat)


class Supersession(OwnedModel):
    """A memory that was replaced by one of another story, directly or over others.

    It is superseded only in chats that see the successor: the branches of one story learn different things.
    """

    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="supersessions", db_index=False)
    successor = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["memory", "successor"], name="supersession_once"),
            models.CheckConstraint(condition=~Q(memory=models.F("successor")), name="supersession_of_another"),
        ]
        indexes = [models.Index("owner", name="supersession_owner")]  # what a chat sees as superseded


class Inheritance(OwnedModel):
    """A memory that a branch inherits from its parent, with its own state and validity in the branch."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="inheritances", db_index=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="inheritances")
    message_ids = ArrayField(models.UUIDField(), default=list, help_text="The branch's copies of its source messages.")
    state = models.CharField(max_length=16, choices=Memory.State.choices, default=Memory.State.ACTIVE)
    retired_reason = models.CharField(max_length=32, choices=RetiredReason.choices, blank=True, default="")
    confidence = models.FloatField(default=0.7, help_text="As confirmed in the branch.")
    superseded_by = models.ForeignKey(Memory, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    valid_from = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    valid_to = models.ForeignKey(Message, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chat", "memory"], name="inheritance_once"),
            models.CheckConstraint(condition=Q(confidence__range=(0, 1)), name="inheritance_confidence"),
        ]
        indexes = [models.Index("owner", "chat", "state", name="inheritance_owner_chat")]
