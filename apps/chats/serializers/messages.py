"""Serializers of messages in responses."""

from typing import Any

from rest_framework import serializers

from apps.chats.models import Message
from apps.chats.serializers.documents import message_document
from apps.common.api.serializer_fields import (
    JSONObjectField,
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
