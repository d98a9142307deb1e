"""Imports of files: large ones in the background, small ones during their request."""

from django.db import models
from django.utils.translation import gettext_lazy as _

from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.models.characters import Character
from apps.common.database.fields import OrderedJSONField, StoredTextsField
from apps.common.jobs import Job


class ImportJob(Job):
    """A background import of a file. ``done`` and ``total`` are bytes; its chats exist once it has succeeded."""

    awaited = True

    class Existing(models.TextChoices):
        """What becomes of a chat in the file that is stored already."""

        COPY = "copy", _("Import it as a second copy")
        UPDATE = "update", _("Update the chat that is stored")
        ASK = "ask", _("Pause and ask")

    filename = models.CharField(max_length=255)
    existing = models.CharField(max_length=8, choices=Existing.choices, default=Existing.COPY)
    matches = OrderedJSONField(
        default=list, blank=True, help_text="Of a paused import: the chats that are stored already."
    )
    file = models.FileField(upload_to="imports/", blank=True, help_text="Removed when the job has ended.")
    title = models.CharField(max_length=MAX_NAME_LENGTH, blank=True, default="")
    character = models.ForeignKey(Character, on_delete=models.SET_NULL, null=True, blank=True, related_name="+")
    messages = models.PositiveBigIntegerField(default=0, help_text="Read so far.")
    report = StoredTextsField(default=dict, blank=True)

    class Meta:
        indexes = [
            models.Index(fields=["owner", "-id"], name="import_owner_newest"),  # the list
            models.Index("state", "heartbeat_at", name="import_state"),  # the sweep, over all owners
        ]
