"""Replies kept for retries, and snapshots taken before a forced write."""

from django.db import models

from apps.chats.models import Chat
from apps.common import clock
from apps.common.scoping import OwnedModel


class IdempotencyRecord(OwnedModel):
    """The reply to a write that carried an Idempotency-Key, stored with what it wrote."""

    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of method, path and body.")
    status = models.PositiveSmallIntegerField()
    body = models.TextField()
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="idempotency_key")]
        indexes = [models.Index("created_at", name="idempotency_age")]  # the sweep of old ones


class ChatSnapshot(OwnedModel):
    """A chat as it was, as its JSONL export, gzipped."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="snapshots", db_index=False)
    rev = models.PositiveBigIntegerField(help_text="The chat's rev that it holds.")
    reason = models.CharField(max_length=32)
    content = models.BinaryField()
    created_at = models.DateTimeField(default=clock.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["owner", "chat", "-id"], name="snapshot_owner_chat")]
