"""Models of the entities that memories name, and of their merges."""

from collections.abc import Iterable
from typing import Any

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from apps.chats.models import Character, Chat
from apps.common.scoping import OwnedModel


class Entity(OwnedModel):
    """A person, place, thing or group that memories name. A registry belongs to a character, or else to a chat."""

    class Kind(models.TextChoices):
        CHARACTER = "character", _("Character")
        PLACE = "place", _("Place")
        OBJECT = "object", _("Object")
        FACTION = "faction", _("Faction")
        CONCEPT = "concept", _("Concept")
        UNKNOWN = "unknown", _("Unknown")

    character = models.ForeignKey(Character, on_delete=models.CASCADE, null=True, related_name="entities")
    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, null=True, related_name="entities")
    name = models.CharField(max_length=200)
    kind = models.CharField(max_length=16, choices=Kind.choices, default=Kind.UNKNOWN)
    aliases = ArrayField(models.CharField(max_length=200), default=list, blank=True)
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        verbose_name_plural = "entities"
        constraints = [
            models.UniqueConstraint(
                "owner",
                "character",
                "chat",
                models.functions.Lower("name"),
                name="entity_name_unique",
                nulls_distinct=False,
            )
        ]

    def save(self, *args: Any, update_fields: Iterable[str] | None = None, **kwargs: Any) -> None:
        self.updated_at = timezone.now()
        columns = None if update_fields is None else {*update_fields, "updated_at"}
        super().save(*args, update_fields=columns, **kwargs)


class EntityMerge(OwnedModel):
    """What merging an entity into another one changed, so that it can be undone."""

    into = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="merges")
    name = models.CharField(max_length=200, help_text="The name of the entity that was merged.")
    document = models.JSONField(help_text="The state before the merge, as entity_merges.record_of returns it.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["owner", "into", "-id"], name="entity_merge_into")]
