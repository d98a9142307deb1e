"""Stored recalls."""

from typing import Any
from uuid import UUID

from django.db import models
from django.utils import timezone

from apps.chats.models import Chat, Message
from apps.common.scoping import OwnedModel


class Recall(OwnedModel):
    """The memories and passages recalled for one user message, and their text in the prompt."""

    class Source(models.TextChoices):
        """Whether the last prompt used fresh results of a search or the stored text."""

        FRESH = "fresh"
        PERSISTENT = "persistent"

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="recalls", db_index=False)
    message = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="recall")
    text = models.TextField()
    edited = models.BooleanField(default=False)
    source = models.CharField(max_length=16, choices=Source.choices, default=Source.FRESH)
    memories = models.JSONField(default=list, help_text="Entries in the form that Entry.document returns, best first.")
    tokens = models.PositiveIntegerField(default=0)
    turn_hash = models.CharField(max_length=64, help_text="SHA-256 of the turn's text that the recall was made for.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [models.Index("owner", "chat", name="recall_owner_chat")]  # the cards of a chat page

    @property
    def stored_id(self) -> UUID | None:
        """Return the id, or None if the recall isn't saved."""
        stored: Any = None if self._state.adding else self.pk
        return stored
