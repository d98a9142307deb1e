"""What was recalled for a user's turn."""

from django.db import models
from django.utils import timezone

from apps.chats.models import Chat, Message
from apps.common.scoping import OwnedModel


class Recall(OwnedModel):
    """The recall of one user turn: the text that went into the prompt, and what it was made of."""

    class Source(models.TextChoices):
        FRESH = "fresh"
        PERSISTENT = "persistent"

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="recalls", db_index=False)
    message = models.OneToOneField(Message, on_delete=models.CASCADE, related_name="recall")
    text = models.TextField()
    edited = models.BooleanField(default=False)
    source = models.CharField(max_length=16, choices=Source.choices, default=Source.FRESH)
    memories = models.JSONField(default=list, help_text="[{id, score, signals}], best first.")
    tokens = models.PositiveIntegerField(default=0)
    turn_hash = models.CharField(max_length=64, help_text="SHA-256 of the turn's text that it was made for.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [models.Index("owner", "chat", name="recall_owner_chat")]  # the cards of a window
