"""Pictures of characters and personas, and images in messages."""

from django.db import models
from django.utils import timezone

from apps.chats.models.characters import Character
from apps.chats.models.chats import Chat
from apps.chats.models.personas import Persona
from apps.common.database.ids import uuid7
from apps.common.scoping import OwnedModel


class CharacterImage(OwnedModel):
    """The picture of a character, as uploaded."""

    character = models.OneToOneField(Character, on_delete=models.CASCADE, related_name="image")
    media_type = models.CharField(max_length=32)
    content = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)


class Avatar(OwnedModel):
    """A small square picture of a character or a persona, as WebP. A new picture is a new row."""

    character = models.OneToOneField(Character, on_delete=models.CASCADE, null=True, blank=True, related_name="avatar")
    persona = models.OneToOneField(Persona, on_delete=models.CASCADE, null=True, blank=True, related_name="avatar")
    content = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [
            models.CheckConstraint(
                condition=models.Q(character__isnull=False, persona__isnull=True)
                | models.Q(character__isnull=True, persona__isnull=False),
                name="avatar_of_one",
            )
        ]
        indexes = [models.Index("owner", name="avatar_owner")]  # the avatars of a chat's speakers


class ChatImage(OwnedModel):
    """An image uploaded to a chat, as WebP. Texts name it by its key, which branches of the chat have too."""

    chat = models.ForeignKey(Chat, on_delete=models.CASCADE, related_name="images", db_index=False)
    key = models.UUIDField(default=uuid7, editable=False)
    content = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now, editable=False)

    class Meta:
        constraints = [models.UniqueConstraint(fields=["chat", "key"], name="image_chat_key")]
        indexes = [models.Index("owner", "key", name="image_owner_key")]  # the image in a text
