"""What the API takes and gives of prompts and recalls."""

from typing import Any

from rest_framework import serializers

from apps.chats.serializers import OwnCharacter
from apps.common.serializer_fields import Flag, Integer, JSONObject, StrictSerializer, Text

MAX_TEXT = 100_000  # characters of a turn or of an edited recall
MAX_CONTEXT = 10_000_000  # tokens
DEFAULT_CONTEXT = 8192


class PromptRequestSerializer(StrictSerializer):
    text = Text(
        max_length=MAX_TEXT,
        allow_null=True,
        default=None,
        help_text="The user turn about to be sent; null: the last one.",
    )
    character = OwnCharacter(default=None)
    context_tokens = Integer(min_value=1, max_value=MAX_CONTEXT, default=DEFAULT_CONTEXT)
    history = Flag(default=False)


class RecallUpdateSerializer(StrictSerializer):
    text = Text(max_length=MAX_TEXT)


class SlotSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    role = serializers.CharField()
    position = serializers.ChoiceField(choices=["in_prompt", "in_chat"])
    depth = serializers.IntegerField()
    text = serializers.CharField()
    tokens = serializers.IntegerField(help_text="Of the text.")
    full_tokens = serializers.IntegerField(help_text="Had nothing been left out.")
    trimmed = serializers.IntegerField(help_text="Entries left out.")
    budget = serializers.IntegerField()


class RecalledMemorySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="Of a memory, or of a message where the tier is messages.")
    score = serializers.FloatField()
    signals = serializers.DictField(child=serializers.FloatField())
    tier = serializers.CharField()
    kind = serializers.CharField()
    slot = serializers.CharField()
    text = serializers.CharField()
    why = serializers.CharField(help_text="In words.")
    message = serializers.UUIDField(allow_null=True, help_text="Where it was said.")
    triggered = serializers.BooleanField(help_text="Found by the words of the turn.")


class NodeSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    weight = serializers.IntegerField()


class EdgeSerializer(serializers.Serializer[Any]):
    source = serializers.UUIDField()  # type: ignore[assignment]
    target = serializers.UUIDField()
    relation = serializers.CharField()
    memories = serializers.ListField(child=serializers.UUIDField())


class GraphSerializer(serializers.Serializer[Any]):
    nodes = NodeSerializer(many=True)
    edges = EdgeSerializer(many=True)


class RecallSerializer(serializers.Serializer[Any]):
    """A recall as it is replied: ``wire.recall_documents``."""

    id = serializers.UUIDField(allow_null=True)
    message = serializers.UUIDField(allow_null=True)
    index = serializers.IntegerField(allow_null=True)
    text = serializers.CharField()
    edited = serializers.BooleanField()
    source = serializers.ChoiceField(choices=["fresh", "persistent"])  # type: ignore[assignment]
    memories = RecalledMemorySerializer(many=True)
    graph = GraphSerializer()
    tokens = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def to_representation(self, instance: dict[str, Any]) -> dict[str, Any]:
        return instance


class PromptSerializer(serializers.Serializer[Any]):
    slots = SlotSerializer(many=True)
    unified = serializers.CharField(allow_null=True)
    macros = JSONObject()
    recall = RecallSerializer(allow_null=True)
    messages = serializers.ListField(child=JSONObject(), allow_null=True)
    total_tokens = serializers.IntegerField()
    turn_class = serializers.ChoiceField(choices=["dialogue", "action", "transition", "intimate"])
