"""Snapshots, jobs that restore them, and which chats are in the mirror."""

from typing import ClassVar

from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Chat
from apps.common.jobs import OPEN_STATES, Job
from apps.common.scoping import OwnedModel


class Snapshot(Job):
    """An archive of the owner's rows, and the job that makes it. ``done`` and ``total`` are rows."""

    runs_suspended = True  # suspended users may take their data along
    awaited = Q(reason="manual")

    class Kind(models.TextChoices):
        ACCOUNT = "account", _("Account")
        CHAT = "chat", _("Chat")
        SETTINGS = "settings", _("Settings")

    class Reason(models.TextChoices):
        MANUAL = "manual", _("Made by hand")
        DAILY = "daily", _("Daily")
        FORCED = "forced_write", _("Before a forced write")
        RESTORE = "restore", _("Before a restore")
        UPLOADED = "uploaded", _("Uploaded")

    kind = models.CharField(max_length=16, choices=Kind.choices)
    reason = models.CharField(max_length=16, choices=Reason.choices, default=Reason.MANUAL)
    # Not a foreign key: a snapshot can bring back a chat that was deleted for good.
    chat_id = models.UUIDField(null=True, blank=True, help_text="Of a snapshot of a chat.")
    title = models.CharField(max_length=200, blank=True, default="", help_text="The chat's title at that time.")
    file = models.FileField(upload_to="snapshots/", blank=True)
    size = models.PositiveBigIntegerField(default=0, help_text="Bytes.")
    counts = models.JSONField(default=dict, help_text="Number of rows by table.")
    moment = models.CharField(
        max_length=64, blank=True, default="", help_text="Name of the moment that it is to hold, as long as it is kept."
    )
    taken_at = models.DateTimeField(default=timezone.now, help_text="The moment of the rows, also of an uploaded one.")

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=Q(kind="chat", chat_id__isnull=False) | (~Q(kind="chat") & Q(chat_id=None)),
                name="snapshot_chat",
            ),
            models.UniqueConstraint(
                fields=["owner", "kind", "chat_id", "reason"],
                condition=Q(state__in=OPEN_STATES),
                nulls_distinct=False,
                name="snapshot_one_at_a_time",
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "-id"], name="snapshot_owner"),  # the list
            models.Index("claimed_at", name="snapshot_claimed"),  # for the owners' latest turns
            models.Index("state", condition=Q(state__in=OPEN_STATES), name="snapshot_open"),  # for workers
        ]


class Restore(Job):
    """A restoration of a snapshot. ``done`` and ``total`` are rows.

    All rows, and the success of the job, are committed in one transaction. One that is interrupted has changed nothing,
    and is not repeated by itself: its owner may have gone on writing.
    """

    revivable: ClassVar[bool] = False
    awaited = True

    snapshot = models.ForeignKey(Snapshot, on_delete=models.CASCADE, related_name="restores", db_index=False)
    safety = models.ForeignKey(
        Snapshot, on_delete=models.SET_NULL, null=True, related_name="+", help_text="The state that was replaced."
    )

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["owner"], condition=Q(state__in=OPEN_STATES), name="restore_one_at_a_time"),
        ]
        indexes = [
            models.Index(fields=["snapshot", "-id"], name="restore_snapshot"),
            models.Index("claimed_at", name="restore_claimed"),  # for the owners' latest turns
            models.Index("state", condition=Q(state__in=OPEN_STATES), name="restore_open"),  # for workers
        ]


class MirroredChat(OwnedModel):
    """A chat of which the mirror has a copy."""

    chat = models.OneToOneField(Chat, on_delete=models.CASCADE, related_name="mirrored")
    at = models.DateTimeField(help_text="Changes until then are in the copy.")


class MirrorDeletion(models.Model):
    """A file that is to be deleted from the mirror. It has no owner, since it outlives the account."""

    WITHOUT_OWNER = "outlives the account"

    name = models.CharField(max_length=100, unique=True)

    def __str__(self) -> str:
        return self.name
