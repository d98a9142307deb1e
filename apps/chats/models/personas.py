"""Personas, the roles that a user plays."""

from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.utils import timezone

from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.querysets import DeletedPersonaManager, PersonaManager
from apps.common.scoping import OwnedModel


class Persona(OwnedModel):
    """A role that the owner plays in chats. Its name is the ``user_name`` of the chats that it is chosen in."""

    name = models.CharField(max_length=MAX_NAME_LENGTH)
    description = models.TextField(blank=True, default="")
    is_default = models.BooleanField(default=False, help_text="Chosen in new chats.")
    deleted_at = models.DateTimeField(null=True, editable=False)
    played_in = ArrayField(
        models.UUIDField(), default=list, editable=False, help_text="Of a deleted persona: the chats that named it."
    )
    withheld = models.BooleanField(
        default=False, editable=False, help_text="Moderators have hidden it: models never get it."
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = PersonaManager()  # type: ignore[misc]
    deleted = DeletedPersonaManager()

    class Meta:
        constraints = [
            models.UniqueConstraint(
                fields=["owner"],
                condition=models.Q(is_default=True, deleted_at=None),
                name="persona_one_default",
            )
        ]
        indexes = [
            models.Index("owner", "name", name="persona_owner_name"),  # the list; lookup at import
            models.Index(
                "deleted_at", name="persona_deleted", condition=models.Q(deleted_at__isnull=False)
            ),  # the purge, over all owners
        ]
