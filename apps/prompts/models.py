"""Stored recalls, injection settings, and what is known of the prompts of a chat."""

from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.chats.models import Character, Chat, Message
from apps.common.scoping import OwnedModel
from apps.extraction.models import ScopedSettings


def is_for(turn_hash: Any) -> Q:
    """Return the condition of recalls that hold for a turn's text: those made for it, and those that a person edited.

    An edited text stays with its message until the recall is run again. One of a turn that was not sent
    holds for that turn's text alone.
    """
    return Q(turn_hash=turn_hash) | Q(edited=True, message__isnull=False)


class Recall(OwnedModel):
    """The memories and passages recalled for one user turn, and their text in the prompt.

    ``message`` is None until the turn is appended. A ``deleted`` recall is empty, and stays so that nothing makes it
    again for the same text.
    """

    class Source(models.TextChoices):
        """Whether the last prompt used fresh results of a search or the stored text."""

        FRESH = "fresh"
        PERSISTENT = "persistent"

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="recalls", db_index=False)
    message = models.OneToOneField(Message, on_delete=models.CASCADE, null=True, related_name="recall")
    text = models.TextField()
    edited = models.BooleanField(default=False)
    deleted = models.BooleanField(default=False)
    source = models.CharField(max_length=16, choices=Source.choices, default=Source.FRESH)
    memories = models.JSONField(default=list, help_text="Entries in the form that Entry.document returns, best first.")
    left_out = models.JSONField(default=list, help_text="The first entries that no budget had room for, likewise.")
    left_out_count = models.PositiveIntegerField(default=0, help_text="The number of entries that had no room.")
    lore = models.JSONField(default=list, help_text="Lorebook entries in the last prompt, in their order.")
    lookups = models.JSONField(
        default=list, db_default=[], help_text="What the model looked up itself for the last reply, in order."
    )
    tokens = models.PositiveIntegerField(default=0)
    turn_hash = models.CharField(max_length=64, help_text="SHA-256 of the turn's text that the recall was made for.")
    rev = models.PositiveIntegerField(
        default=1, db_default=1, help_text="Grows by one with each text, so that a stale edit is told."
    )
    versions = models.JSONField(
        default=list, db_default=[], help_text="Texts that a person replaced or wrote, the newest first."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [models.Index("owner", "chat", name="recall_owner_chat")]  # the cards of a chat page
        constraints = [
            models.UniqueConstraint(fields=["chat"], condition=models.Q(message=None), name="recall_one_not_appended"),
        ]

    @property
    def sent_message(self) -> Message:
        """Return the message of a recall that has one."""
        if self.message is None:
            raise ValueError("The turn of this recall is not appended yet.")
        return self.message

    @property
    def stored_id(self) -> UUID | None:
        """Return the id, or None if the recall isn't saved."""
        stored: Any = None if self._state.adding else self.pk
        return stored


class AwayRecap(OwnedModel):
    """What happened in a chat before its owner was away, shown once when they return."""

    chat = models.OneToOneField(Chat, on_delete=models.CASCADE, related_name="+")
    away_since = models.DateTimeField(help_text="The last activity before the absence that it was made for.")
    text = models.TextField()
    by_model = models.BooleanField(default=False, help_text="A model wrote it; else it lists scenes and memories.")
    asked_at = models.DateTimeField(null=True, help_text="When a model was asked for it; null when it has replied.")
    dismissed = models.BooleanField(default=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)


class InjectionSettings(ScopedSettings):
    """Injection settings of a user, a character or a chat."""

    class Meta(ScopedSettings.Meta):
        verbose_name_plural = "injection settings"


class SlotStatistics(OwnedModel):
    """Tokens that a slot of a chat got in the last prompt, and the most that it has needed."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="+", db_index=False)
    slot = models.CharField(max_length=32)
    tokens = models.PositiveIntegerField()
    full_tokens = models.PositiveIntegerField(help_text="Of all entries, including those left out.")
    trimmed = models.PositiveIntegerField(help_text="Number of entries left out.")
    budget = models.PositiveIntegerField()
    high_water = models.PositiveIntegerField(help_text="The highest full_tokens so far.")
    updated_at = models.DateTimeField()

    class Meta:
        verbose_name_plural = "slot statistics"
        constraints = [models.UniqueConstraint(fields=["chat", "slot"], name="slotstatistics_once")]


class PromptState(OwnedModel):
    """What the last prompt of a chat, for one responding character, began with.

    The next prompt is compared with it, and holds blocks until their refresh period is over.
    """

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="+", db_index=False)
    character = models.ForeignKey(Character, on_delete=models.CASCADE, null=True, related_name="+")
    prefix = models.JSONField(default=list, help_text="Hashes of its leading messages.")
    whole = models.JSONField(default=list, help_text="Hashes of the leading messages of the last reply's prompt.")
    held = models.JSONField(default=dict, help_text="By slot: the user turn of its last refresh, and its entries.")
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chat", "character"], name="promptstate_once", nulls_distinct=False),
        ]
