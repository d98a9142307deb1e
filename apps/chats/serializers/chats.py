"""Serializers of chats."""

from typing import Any

from rest_framework import serializers

from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.models import Chat
from apps.chats.serializers.documents import chat_document
from apps.chats.serializers.fields import OwnedCharacterField, OwnedPersonaField
from apps.common.api.serializer_fields import JSONObjectField, StrictBooleanField, StrictSerializer, TextField
from apps.common.scoping import MAX_NAMESPACE_LENGTH

# Fields of a chat that say where it stands in the list, and whose model replies. Changing them is no write to the chat.
ORGANIZATION_FIELDS = ("pinned", "archived", "folder", "tags", "connection")
CONNECTION_HELP = (
    "The connection whose model replies in this chat. Null: the one that you use for generation. "
    "Programs that talk through the proxy choose their own model."
)


class ChatSerializer(serializers.Serializer[Chat]):
    """A chat in a response."""

    id = serializers.UUIDField()
    namespace = serializers.CharField(help_text="The end user of your application whose it is; empty: your own.")
    title = serializers.CharField()
    character = serializers.UUIDField(allow_null=True)
    user_name = serializers.CharField()
    persona = serializers.UUIDField(allow_null=True)
    connection = serializers.UUIDField(allow_null=True, help_text=CONNECTION_HELP)
    metadata = JSONObjectField()
    integrity = serializers.UUIDField()
    rev = serializers.IntegerField()
    message_count = serializers.IntegerField()
    is_group = serializers.BooleanField()
    parent = serializers.UUIDField(allow_null=True)  # type: ignore[assignment]
    parent_index = serializers.IntegerField(allow_null=True)
    is_checkpoint = serializers.BooleanField()
    pinned = serializers.BooleanField()
    archived = serializers.BooleanField()
    folder = serializers.CharField(help_text="Of the list of chats; empty for none.")
    tags = serializers.ListField(child=serializers.CharField())
    last_active = serializers.DateTimeField()
    last_used = serializers.DateTimeField(help_text="When its owner last wrote to it, changed or imported it.")
    deleted_at = serializers.DateTimeField(allow_null=True, help_text="When it was put into the bin.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def to_representation(self, instance: Chat) -> dict[str, Any]:
        return chat_document(instance)


class ChatCreateSerializer(StrictSerializer):
    title = TextField(max_length=MAX_NAME_LENGTH, default="", help_text="Default: the character's name.")
    character = OwnedCharacterField(default=None)
    user_name = TextField(max_length=MAX_NAME_LENGTH, default="", help_text="Default: the persona's name.")
    persona = OwnedPersonaField(
        required=False, help_text="Default: the default persona, unless there is a `user_name`."
    )
    metadata = JSONObjectField(default=dict)
    namespace = TextField(
        required=False,
        max_length=MAX_NAMESPACE_LENGTH,
        help_text="The end user of your application whose it is. Default: the character's.",
    )
    greeting = StrictBooleanField(
        default=False, help_text="Begin with the character's first message; its alternatives become swipes."
    )
