"""How a chat remembers: its mode, and what a branch took over from its parent."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q

from apps.chats.models import Character, Chat, Message
from apps.common.fields import OrderedJSONField
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


class MemorySettings(OwnedModel):
    """What differs from the defaults: of a user, or of one of their characters or chats."""

    character = models.OneToOneField(
        Character, on_delete=models.CASCADE, null=True, blank=True, related_name="memory_settings"
    )
    chat = models.OneToOneField(Chat, on_delete=models.CASCADE, null=True, blank=True, related_name="memory_settings")
    document = OrderedJSONField(default=dict, help_text="Only what differs, with its schema_version.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        verbose_name_plural = "memory settings"
        constraints = [
            models.UniqueConstraint(
                fields=["owner", "character", "chat"], name="memory_settings_once", nulls_distinct=False
            ),
            models.CheckConstraint(
                condition=Q(character__isnull=True) | Q(chat__isnull=True), name="memory_settings_of_one"
            ),
        ]


class PromptTemplate(OwnedModel):
    """What a user has a model asked by, instead of the template that comes with Loci."""

    task = models.CharField(max_length=32)
    text = models.TextField()
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "task"], name="prompt_template_once")]
