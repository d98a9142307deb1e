"""Models of idempotency records and settings documents."""

import uuid

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from apps.common.database.fields import OrderedJSONField
from apps.common.scoping import MAX_NAMESPACE_LENGTH, OwnedModel


class IdempotencyRecord(OwnedModel):
    """The response to a write with an Idempotency-Key, stored in the transaction of the write.

    The record is never deleted, so that no retry is executed again. Its body is dropped after IDEMPOTENCY_HOURS,
    or when a chat or a namespace is deleted for good whose texts it may hold.
    """

    namespace = models.CharField(
        max_length=MAX_NAMESPACE_LENGTH,
        blank=True,
        default="",
        db_default="",
        editable=False,
        help_text="That the token is bound to; empty if it is bound to none.",
    )
    key = models.CharField(max_length=255)
    fingerprint = models.CharField(max_length=64, help_text="SHA-256 of method, path and body.")
    status = models.PositiveSmallIntegerField()
    # Not an empty text, since some responses are empty.
    body = models.TextField(null=True, help_text="Null once it is dropped.")  # noqa: DJ001
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="idempotency_key")]
        indexes = [
            models.Index(
                "created_at", name="idempotency_age", condition=models.Q(body__isnull=False)
            )  # dropping old bodies, over all owners
        ]


class SettingsDocument(OwnedModel):
    """Integrity and rev of a user's settings. ``Setting`` holds the values, one row for each top-level key."""

    integrity = models.UUIDField(default=uuid.uuid4, editable=False)
    rev = models.PositiveBigIntegerField(default=0, editable=False)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner"], name="settings_owner")]


class Setting(OwnedModel):
    """One top-level key of a settings document. ``rev`` is that of the last write that changed it."""

    key = models.CharField(max_length=255)
    value = OrderedJSONField(null=True, blank=True)
    rev = models.PositiveBigIntegerField()
    deleted = models.BooleanField(default=False, help_text="The key was deleted; the row keeps its rev.")

    class Meta:
        constraints = [models.UniqueConstraint(fields=["owner", "key"], name="setting_owner_key")]


class SettingsChange(OwnedModel):
    """One write to a settings document: the keys it changed, and the integrity and rev after it."""

    rev = models.PositiveBigIntegerField()
    integrity = models.UUIDField()
    keys = ArrayField(models.TextField(), default=list)
    at = models.DateTimeField(default=timezone.now, editable=False)
    forced = models.BooleanField(default=False, help_text="Written without a check of integrity.")

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner", "rev"], name="settings_change_rev"),
            models.UniqueConstraint(fields=["owner", "integrity"], name="settings_change_integrity"),
        ]
