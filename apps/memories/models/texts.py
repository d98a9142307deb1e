"""The model of versioned texts: summary, profiles, canon, continuity check and repair note."""

from typing import Any

from django.db import models
from django.db.models import Q

from apps.chats.models import Character, Chat
from apps.common.database.fields import OrderedJSONField
from apps.memories.models.layers import LayerEntry
from apps.memories.models.life import Life
from apps.memories.models.memory import StoryModel


class VersionedText(StoryModel, LayerEntry):
    """One version of a text derived from a chat or its memories. ``source`` is the last message that it covers.

    A row without a chat is a canon that a person wrote in a chat that is purged and whose character keeps it.
    """

    SCHEMA_VERSION = 1  # version of the shape of ``document``

    class Kind(models.TextChoices):
        SUMMARY = "summary"
        PROFILE = "profile"
        CANON = "canon"
        CONTINUITY = "continuity"
        REPAIR = "repair"

    class State(models.TextChoices):
        CURRENT = "current"
        REPLACED = "replaced"
        RETIRED = "retired"

    life = Life(
        holds=State.CURRENT,
        slot=("kind", "story", "character_id"),
        versioned=True,
        outlives_chat=Q(kind=Kind.CANON, state=State.CURRENT, character__isnull=False) & ~Q(edited_by=""),
        outlives_fresh_start=Q(kind=Kind.CANON),  # it rests on long-term memories, which stay
    )

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, null=True, blank=True, related_name="versioned_texts")
    character = models.ForeignKey(
        Character, on_delete=models.CASCADE, null=True, blank=True, related_name="versioned_texts"
    )
    kind = models.CharField(max_length=16, choices=Kind.choices)
    text = models.TextField(blank=True, default="")
    document = OrderedJSONField(default=dict, blank=True, help_text="Named parts and their schema_version.")
    state = models.CharField(max_length=16, choices=State.choices, default=State.CURRENT)

    class Meta:
        constraints = [
            *LayerEntry.Meta.constraints,
            models.UniqueConstraint(
                fields=["owner", "kind", "chat", "story", "character"],
                condition=Q(state="current"),
                name="versioned_text_one_current",
                nulls_distinct=False,
            ),
        ]
        indexes = [
            models.Index(fields=["owner", "chat", "kind", "-id"], name="text_owner_chat"),
            models.Index(fields=["owner", "character", "kind", "-id"], name="text_owner_character"),
        ]

    @property
    def parts(self) -> dict[str, Any]:
        """Return the document's parts, without its schema version."""
        return {name: value for name, value in self.document.items() if name != "schema_version"}
