"""What the API takes and gives of characters, chats and messages."""

from typing import Any

from rest_framework import serializers

from apps.chats.dates import parse_date
from apps.chats.models import Character, Chat, Message
from apps.chats.wire import chat_document, message_document
from apps.common.serializer_fields import Flag, Integer, JSONObject, StrictSerializer, Text

# Greetings, tags or sources of one character.
MAX_LISTED = 1000


class CharacterSerializer(serializers.ModelSerializer[Character]):
    name = Text(max_length=200, allow_blank=False)
    description = Text(required=False)
    personality = Text(required=False)
    scenario = Text(required=False)
    first_mes = Text(required=False)
    mes_example = Text(required=False)
    system_prompt = Text(required=False)
    post_history_instructions = Text(required=False)
    creator_notes = Text(required=False)
    alternate_greetings = serializers.ListField(child=Text(), required=False, max_length=MAX_LISTED)
    group_only_greetings = serializers.ListField(child=Text(), required=False, max_length=MAX_LISTED)
    tags = serializers.ListField(child=Text(), required=False, max_length=MAX_LISTED)
    creator = Text(required=False)
    character_version = Text(required=False)
    nickname = Text(required=False)
    creator_notes_multilingual = JSONObject(required=False)
    source = serializers.ListField(  # type: ignore[assignment]
        child=Text(), required=False, max_length=MAX_LISTED, help_text="Where the card comes from."
    )
    extensions = JSONObject(required=False)

    class Meta:
        model = Character
        fields = [
            "id",
            "name",
            "description",
            "personality",
            "scenario",
            "first_mes",
            "mes_example",
            "system_prompt",
            "post_history_instructions",
            "creator_notes",
            "alternate_greetings",
            "group_only_greetings",
            "tags",
            "creator",
            "character_version",
            "nickname",
            "creator_notes_multilingual",
            "source",
            "extensions",
            "created_at",
            "updated_at",
        ]


class ChatSerializer(serializers.Serializer[Chat]):
    """A chat as it is replied. Its representation is ``wire.chat_document``."""

    id = serializers.UUIDField()
    title = serializers.CharField()
    character = serializers.UUIDField(allow_null=True)
    user_name = serializers.CharField()
    metadata = JSONObject()
    integrity = serializers.UUIDField()
    rev = serializers.IntegerField()
    message_count = serializers.IntegerField()
    is_group = serializers.BooleanField()
    parent = serializers.UUIDField(allow_null=True)  # type: ignore[assignment]
    parent_index = serializers.IntegerField(allow_null=True)
    is_checkpoint = serializers.BooleanField()
    last_active = serializers.DateTimeField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def to_representation(self, instance: Chat) -> dict[str, Any]:
        return chat_document(instance)


class OwnCharacter(serializers.PrimaryKeyRelatedField[Character]):
    """The id of one of the requester's characters, or null."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pk_field=serializers.UUIDField(), allow_null=True, **kwargs)

    def get_queryset(self) -> Any:
        return Character.objects.for_owner(self.context["request"].user)


class ChatUpdateSerializer(StrictSerializer):
    title = Text(max_length=200, allow_blank=False, required=False)
    character = OwnCharacter(required=False)
    user_name = Text(max_length=200, required=False)


class ChatCreateSerializer(StrictSerializer):
    title = Text(max_length=200, default="", help_text="Left out: the character's name.")
    character = OwnCharacter(default=None)
    user_name = Text(max_length=200, default="")
    metadata = JSONObject(default=dict)


class MessageSerializer(serializers.Serializer[Message]):
    """A message as it is replied. Its representation is ``wire.message_document``."""

    id = serializers.UUIDField()
    index = serializers.IntegerField()
    rev = serializers.IntegerField()
    name = serializers.CharField()
    participant = serializers.UUIDField(allow_null=True)
    is_user = serializers.BooleanField()
    is_system = serializers.BooleanField()
    send_date = serializers.JSONField()
    mes = serializers.CharField()
    extra = JSONObject()
    swipe_id = serializers.IntegerField()
    swipes = serializers.ListField(child=serializers.CharField())
    swipe_info = serializers.ListField(child=JSONObject())
    hidden = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def to_representation(self, instance: Message) -> dict[str, Any]:
        return message_document(instance)


class WindowSerializer(serializers.Serializer[Any]):
    integrity = serializers.UUIDField()
    rev = serializers.IntegerField()
    total = serializers.IntegerField()
    results = MessageSerializer(many=True)

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {"from": serializers.IntegerField()}


class SendDate(serializers.JSONField):
    """A date as chat files write it: a string or a number that can be read as one."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, bool) or not isinstance(data, str | int | float):
            raise serializers.ValidationError("It must be a string or a number.")
        if parse_date(data) is None:
            raise serializers.ValidationError("This is no date that can be read.")
        return data


class MessageInputSerializer(serializers.Serializer[Any]):
    """A message as a client sends it; fields that Loci doesn't know are kept and exported again."""

    # What the server gives itself: sent back by a client that copies a message, it says nothing.
    ASSIGNED = ("id", "index", "rev", "hidden", "created_at", "updated_at")

    name = Text(max_length=200, required=False)
    participant = serializers.UUIDField(required=False, allow_null=True)
    is_user = Flag(default=False)
    is_system = Flag(default=False)
    send_date = SendDate(required=False)
    mes = Text()
    extra = JSONObject(required=False)
    swipe_id = Integer(min_value=0, required=False)
    swipes = serializers.ListField(child=Text(), required=False, allow_empty=False)
    swipe_info = serializers.ListField(child=JSONObject(), required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """The message as it was sent, without what the server assigns."""
        count = len(attrs.get("swipes", [attrs["mes"]]))
        if attrs.get("swipe_id", 0) >= count:
            raise serializers.ValidationError({"swipe_id": [f"There are {count} swipes."]})
        if len(attrs.get("swipe_info", [])) > count:
            raise serializers.ValidationError({"swipe_info": [f"There are {count} swipes."]})
        return attrs

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        known = super().to_internal_value(data)
        return {key: known.get(key, value) for key, value in data.items() if key not in self.ASSIGNED} | known
