"""Serializers of prompt previews."""

from typing import Any

from rest_framework import serializers

from apps.injection.api.serializers import PromptRequestSerializer, PromptSerializer, RecallSerializer, SlotSerializer
from apps.llm.tokens import count_tokens


class PartSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    role = serializers.CharField()
    text = serializers.CharField()
    tokens = serializers.IntegerField()


class CountedMessageSerializer(serializers.Serializer[Any]):
    role = serializers.CharField()
    content = serializers.CharField()
    tokens = serializers.SerializerMethodField()

    def get_tokens(self, message: dict[str, str]) -> int:
        return count_tokens(message["content"])


class PreviewRequestSerializer(PromptRequestSerializer):
    """As of a prompt. ``history`` has no effect: a preview always has the conversation."""


class PreviewSerializer(PromptSerializer):
    """The whole prompt as a model gets it."""

    slots = SlotSerializer(many=True)
    unified = serializers.CharField(source="memory.unified", allow_null=True)
    macros = serializers.DictField(source="memory.macros", child=serializers.CharField())  # type: ignore[assignment]
    turn_class = serializers.CharField(source="memory.turn_class")  # type: ignore[assignment]
    recall = RecallSerializer(source="memory.recall", allow_null=True)
    parts = PartSerializer(many=True)
    messages = CountedMessageSerializer(many=True)  # type: ignore[assignment]
