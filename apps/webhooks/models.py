"""Models of webhooks and of what is sent to them."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from apps.common.scoping import OwnedModel
from apps.llm.encryption import EncryptedTextField


class Event(models.TextChoices):
    """What a webhook can be told of."""

    MEMORY_ADDED = "memory.added"
    MEMORY_CHANGED = "memory.changed"
    RUN_ENDED = "run.ended"
    RECALL_MADE = "recall.made"


TEST = "webhook.test"  # sent when its owner asks for it, not an event that one subscribes to


class Webhook(OwnedModel):
    """An address that is called when one of ``events`` happens in its owner's account."""

    url = models.CharField(max_length=500)
    events = ArrayField(models.CharField(max_length=32, choices=Event.choices))
    secret = EncryptedTextField(default="", help_text="Signs what is sent; shown once.")
    active = models.BooleanField(default=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["owner"], name="webhook_owner")]


class Delivery(OwnedModel):
    """One call of a webhook. ``subject`` is the id of what the event is about, which ``data`` has besides other ids.

    A webhook that has not been told of an event yet is told once, however often it happens meanwhile.
    """

    class State(models.TextChoices):
        PENDING = "pending"
        DELIVERED = "delivered"
        FAILED = "failed"

    webhook = models.ForeignKey(Webhook, on_delete=models.CASCADE, related_name="deliveries", db_index=False)
    event = models.CharField(max_length=32, choices=[*Event.choices, (TEST, "Test")])
    subject = models.UUIDField()
    data = models.JSONField(default=dict)
    state = models.CharField(max_length=16, choices=State.choices, default=State.PENDING)
    attempts = models.PositiveSmallIntegerField(default=0)
    due_at = models.DateTimeField(default=timezone.now)
    status = models.PositiveSmallIntegerField(null=True, help_text="HTTP status of the last reply.")
    error = models.CharField(max_length=500, blank=True, default="")
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    delivered_at = models.DateTimeField(null=True)

    class Meta:
        verbose_name_plural = "deliveries"
        indexes = [
            models.Index(fields=["owner", "webhook", "-id"], name="delivery_of_webhook"),
            models.Index(fields=["due_at"], condition=Q(state="pending"), name="delivery_due"),
        ]
        constraints = [
            models.UniqueConstraint(
                fields=["webhook", "event", "subject"],
                condition=Q(state="pending", attempts=0),
                name="delivery_untold_once",
            )
        ]
