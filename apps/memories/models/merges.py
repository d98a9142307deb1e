"""Merges of entities that can be undone."""

from django.db import models
from django.utils import timezone

from apps.common.scoping import OwnedModel
from apps.memories.models.memory import Entity


class EntityMerge(OwnedModel):
    """What merging an entity into another one changed, so that it can be undone."""

    into = models.ForeignKey(Entity, on_delete=models.CASCADE, related_name="merges")
    name = models.CharField(max_length=200, help_text="The name of the entity that was merged.")
    document = models.JSONField(help_text="The state before the merge, as entity_merges.record_of returns it.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        indexes = [models.Index(fields=["owner", "into", "-id"], name="entity_merge_into")]
