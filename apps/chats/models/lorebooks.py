"""Lorebooks of characters, personas and chats."""

from django.db import models
from django.utils import timezone

from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.models.characters import Character
from apps.chats.models.chats import Chat
from apps.chats.models.personas import Persona
from apps.common.database.fields import OrderedJSONField
from apps.common.scoping import OwnedModel


class Lorebook(OwnedModel):
    """World-info entries triggered by keywords. It may belong to a character, and be used with a persona or a chat."""

    name = models.CharField(max_length=MAX_NAME_LENGTH)
    character = models.ForeignKey(
        Character, on_delete=models.CASCADE, null=True, blank=True, related_name="lorebooks", db_index=False
    )
    persona = models.ForeignKey(
        Persona, on_delete=models.SET_NULL, null=True, blank=True, related_name="lorebooks", db_index=False
    )
    chat = models.ForeignKey(
        Chat, on_delete=models.SET_NULL, null=True, blank=True, related_name="lorebooks", db_index=False
    )
    document = OrderedJSONField(default=dict, help_text="The book in the form of card version 3.")
    source_format = models.CharField(max_length=32, blank=True, default="")
    original = OrderedJSONField(null=True, blank=True, help_text="The book as imported.")
    withheld = models.BooleanField(
        default=False, editable=False, help_text="Moderators have hidden it: models never get it."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        indexes = [
            models.Index("owner", "name", name="lorebook_owner_name"),  # the list
            models.Index("character", name="lorebook_character"),  # the lorebook of a character
            models.Index("persona", name="lorebook_persona"),  # likewise, also for the foreign key
            models.Index("chat", name="lorebook_chat"),
        ]
