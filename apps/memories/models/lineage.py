"""Models of a chat's memory mode, of what a branch inherits, and of what another story replaced or ended."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Chat, Message
from apps.common.scoping import OwnedModel
from apps.memories.models.layers import Arc, Knowledge, Relationship
from apps.memories.models.life import RetiredReason, link_to
from apps.memories.models.memory import Memory, StoryModel


class ChatMemory(OwnedModel):
    """The memory mode of a chat. A chat without a row is in FULL mode and never had a fresh start."""

    class Mode(models.TextChoices):
        FULL = "full", _("Remember and recall")
        READ_ONLY = "read_only", _("Recall, learn nothing new")

    chat = models.OneToOneField(Chat, on_delete=models.CASCADE, related_name="memory")
    mode = models.CharField(max_length=16, choices=Mode.choices, default=Mode.FULL)
    read_only_since = link_to(Message, "The last message it learnt from.")
    fresh_start = link_to(Message, "The last message before the fresh start.")
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


class Ending(StoryModel):
    """The end of an arc, a knowledge entry or a relationship at a message of another story.

    The entry itself isn't changed: it has ended only for chats that see ``chat``, and goes on once ``message`` is
    changed or ``chat`` deleted. An Ending without a chat was made in one that is purged and whose character keeps it.
    """

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, null=True, blank=True, related_name="endings")
    message = link_to(Message)
    arc = models.ForeignKey(Arc, on_delete=models.CASCADE, null=True, blank=True, related_name="endings")
    knowledge = models.ForeignKey(Knowledge, on_delete=models.CASCADE, null=True, blank=True, related_name="endings")
    relationship = models.ForeignKey(
        Relationship, on_delete=models.CASCADE, null=True, blank=True, related_name="endings"
    )
    state = models.CharField(max_length=16, help_text="The state of the entry, for those who see its end.")
    summary = models.TextField(blank=True, default="", help_text="The outcome of an arc.")
    ended_by = models.CharField(max_length=100, blank=True, default="", help_text="A person; empty if a run ended it.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(arc__isnull=False, knowledge=None, relationship=None)
                | Q(arc=None, knowledge__isnull=False, relationship=None)
                | Q(arc=None, knowledge=None, relationship__isnull=False),
                name="ending_of_one_entry",
            ),
            models.UniqueConstraint(fields=["chat", "arc"], name="ending_of_arc_once"),
            models.UniqueConstraint(fields=["chat", "knowledge"], name="ending_of_knowledge_once"),
            models.UniqueConstraint(fields=["chat", "relationship"], name="ending_of_relationship_once"),
        ]


class Inheritance(OwnedModel):
    """A memory that a branch inherits from its parent, with its own state and validity in the branch."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="inheritances", db_index=False)
    memory = models.ForeignKey(Memory, on_delete=models.CASCADE, related_name="inheritances")
    message_ids = ArrayField(models.UUIDField(), default=list, help_text="The branch's copies of its source messages.")
    state = models.CharField(max_length=16, choices=Memory.State.choices, default=Memory.State.ACTIVE)
    retired_reason = models.CharField(max_length=32, choices=RetiredReason.choices, blank=True, default="")
    confidence = models.FloatField(default=0.7, help_text="As confirmed in the branch.")
    superseded_by = models.ForeignKey(Memory, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    valid_from = link_to(Message)
    valid_to = link_to(Message)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chat", "memory"], name="inheritance_once"),
            models.CheckConstraint(condition=Q(confidence__range=(0, 1)), name="inheritance_confidence"),
        ]
        indexes = [models.Index("owner", "chat", "state", name="inheritance_owner_chat")]
