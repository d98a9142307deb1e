"""Serializers of messages."""

from typing import Any

from rest_framework import serializers

from apps.chats.limits import MAX_NAME_LENGTH, MAX_SWIPES
from apps.chats.models import Message
from apps.chats.serializers.documents import message_document
from apps.chats.serializers.fields import SendDateField
from apps.common.api.serializer_fields import (
    BoundedListField,
    JSONObjectField,
    StrictBooleanField,
    StrictIntegerField,
    TextField,
)


class MessageSerializer(serializers.Serializer[Message]):
    """A message in a response."""

    id = serializers.UUIDField()
    index = serializers.IntegerField()
    rev = serializers.IntegerField()
    name = serializers.CharField()
    participant = serializers.UUIDField(allow_null=True)
    is_user = serializers.BooleanField()
    is_system = serializers.BooleanField()
    send_date = serializers.JSONField()
    mes = serializers.CharField()
    extra = JSONObjectField()
    swipe_id = serializers.IntegerField()
    swipes = serializers.ListField(child=serializers.CharField())
    swipe_info = serializers.ListField(child=JSONObjectField())
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


class MessageInputSerializer(serializers.Serializer[Any]):
    """A message in a request. Unknown fields are kept and exported again."""

    # Assigned by the server, and ignored in a request, so that a client may send back a copy of a message.
    ASSIGNED = ("id", "index", "rev", "hidden", "created_at", "updated_at")

    name = TextField(max_length=MAX_NAME_LENGTH, required=False)
    participant = serializers.UUIDField(required=False, allow_null=True)
    is_user = StrictBooleanField(default=False)
    is_system = StrictBooleanField(default=False)
    send_date = SendDateField(required=False)
    mes = TextField()
    extra = JSONObjectField(required=False)
    swipe_id = StrictIntegerField(min_value=0, required=False)
    swipes = BoundedListField(child=TextField(), required=False, allow_empty=False, max_length=MAX_SWIPES)
    swipe_info = BoundedListField(child=JSONObjectField(), required=False, max_length=MAX_SWIPES)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that ``swipe_id`` and ``swipe_info`` fit the number of swipes."""
        count = len(attrs.get("swipes", [attrs["mes"]]))
        if attrs.get("swipe_id", 0) >= count:
            raise serializers.ValidationError({"swipe_id": [f"There are {count} swipes."]})
        if len(attrs.get("swipe_info", [])) > count:
            raise serializers.ValidationError({"swipe_info": [f"There are {count} swipes."]})
        return attrs

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        known = super().to_internal_value(data)
        return {key: known.get(key, value) for key, value in data.items() if key not in self.ASSIGNED} | known
