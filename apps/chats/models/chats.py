"""Chats and who speaks in them."""

import uuid
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models
from django.utils import timezone
from django.utils.translation import gettext

from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.models.characters import Character
from apps.chats.models.imports import ImportJob
from apps.chats.models.personas import Persona
from apps.chats.querysets import BinManager, ChatManager
from apps.common.database.fields import OrderedJSONField
from apps.common.database.ids import uuid7
from apps.common.scoping import OwnedModel, namespace_field
from apps.llm.models import Connection

MAX_TAGS = 20  # of a chat
MAX_TAG_LENGTH = 50  # characters
MAX_FOLDER_LENGTH = 50  # characters


def refuse_comma(tag: str) -> None:
    """Raise ValidationError for a tag with a comma, which separates tags in forms."""
    if "," in tag:
        raise ValidationError(gettext("A tag can't have a comma."))


class Chat(OwnedModel):
    """A conversation. ``integrity`` and ``rev`` identify its state: both change with every write."""

    namespace = namespace_field()
    character = models.ForeignKey(Character, on_delete=models.SET_NULL, null=True, blank=True, related_name="chats")
    title = models.CharField(max_length=MAX_NAME_LENGTH)
    user_name = models.CharField(max_length=MAX_NAME_LENGTH, blank=True, default="")
    persona = models.ForeignKey(
        Persona,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="chats",
        help_text="The role that the user plays.",
    )
    connection = models.ForeignKey(
        Connection,
        on_delete=models.SET_NULL,
        null=True,
        blank=True,
        related_name="chats",
        help_text="Whose model replies; null: the one that the owner uses for generation.",
    )
    metadata = OrderedJSONField(default=dict, blank=True)
    header_layout = models.TextField(
        blank=True, default="", help_text="Layout of the imported header (see message_data.layout)."
    )
    integrity = models.UUIDField(default=uuid.uuid4, editable=False)
    rev = models.PositiveBigIntegerField(default=0, editable=False)
    settled_rev = models.PositiveBigIntegerField(
        default=0, editable=False, help_text="The rev up to which the background work for its changes has been started."
    )
    message_count = models.PositiveIntegerField(default=0, editable=False)
    last_active = models.DateTimeField(default=timezone.now)
    last_used = models.DateTimeField(
        default=timezone.now, editable=False, help_text="When its owner last wrote to it, changed or imported it."
    )
    pinned = models.BooleanField(default=False, help_text="First in the list.")
    archived = models.BooleanField(default=False, help_text="Not in the list, but in the archive.")
    folder = models.CharField(
        max_length=MAX_FOLDER_LENGTH, blank=True, default="", db_default="", help_text="Of the list; empty for none."
    )
    tags = ArrayField(models.CharField(max_length=MAX_TAG_LENGTH), default=list, blank=True)
    is_group = models.BooleanField(default=False, help_text="The chat has participants.")
    parent = models.ForeignKey(
        "self", on_delete=models.SET_NULL, null=True, blank=True, related_name="branches", editable=False
    )
    parent_index = models.PositiveIntegerField(
        null=True, blank=True, help_text="Index of the last message copied from the parent."
    )
    is_checkpoint = models.BooleanField(default=False, help_text="A branch saved to return to later.")
    # Not a foreign key: branches remain branches of one story after the chat that they come from is deleted.
    story = models.UUIDField(default=uuid7, editable=False, help_text="Shared by a chat and all its branches.")
    deleted_at = models.DateTimeField(null=True, editable=False, help_text="When it was put into the bin.")
    keeps_memories = models.BooleanField(
        default=False, editable=False, help_text="In the bin: what its character learnt stays in other chats."
    )
    import_job = models.ForeignKey(
        ImportJob, on_delete=models.SET_NULL, null=True, blank=True, related_name="chats", editable=False
    )
    created_at = models.DateTimeField(default=timezone.now, editable=False)
    updated_at = models.DateTimeField(auto_now=True)

    objects = ChatManager()  # type: ignore[misc]
    in_bin = BinManager()

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(keeps_memories=False) | models.Q(deleted_at__isnull=False),
                name="chat_keeps_memories_in_bin",
            ),
            models.CheckConstraint(condition=models.Q(tags__len__lte=MAX_TAGS), name="chat_tags_limit"),
            models.UniqueConstraint(fields=["owner", "id", "namespace"], name="chat_namespace"),  # as of characters
        ]
        indexes = [
            models.Index(fields=["owner", "namespace", "-last_used", "-id"], name="chat_owner_used"),  # the list
            models.Index(
                "deleted_at", name="chat_deleted", condition=models.Q(deleted_at__isnull=False)
            ),  # the purge, over all owners
            models.Index(
                "updated_at", name="chat_unsettled", condition=models.Q(rev__gt=models.F("settled_rev"))
            ),  # the sweep, over all owners
        ]

    def names_for(self, speaker: Character | None) -> dict[str, str]:
        """Return the values of the macros ``char`` and ``user`` where ``speaker`` speaks."""
        return {"char": speaker.called if speaker else "the assistant", "user": self.user_name or "You"}

    def participant_ids(self) -> dict[str, UUID]:
        """Return the ids of a group's participants by name; empty for other chats."""
        return dict(self.participants.values_list("name", "pk")) if self.is_group else {}


class Participant(OwnedModel):
    """A speaker in a group chat besides the user."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="participants", db_index=False)
    character = models.ForeignKey(
        Character, on_delete=models.SET_NULL, null=True, blank=True, related_name="participations"
    )
    name = models.CharField(max_length=MAX_NAME_LENGTH)
    position = models.PositiveIntegerField()
    muted = models.BooleanField(default=False, help_text="Excluded from the order of turns.")
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.UniqueConstraint(fields=["chat", "name"], name="participant_chat_name"),
            models.UniqueConstraint(
                fields=["chat", "position"], name="participant_chat_position", deferrable=models.Deferrable.DEFERRED
            ),
        ]
        indexes = [models.Index("owner", "chat", name="participant_owner_chat")]  # counts and scopes by owner
