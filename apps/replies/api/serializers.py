"""Serializers of prompt previews and generations."""

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.chats.serializers import OwnedCharacterField
from apps.common.api.serializer_fields import ChoiceField, StrictSerializer, TextField
from apps.injection.api.serializers import PromptRequestSerializer, PromptSerializer, RecallSerializer, SlotSerializer
from apps.replies.answers import SourcedAnswer
from apps.replies.api.presets import OwnedPresetField
from apps.replies.models import Generation
from apps.replies.streams import state_of
from apps.search.api import ResultSerializer

SPEAKER = "Who speaks; in a group a member. Null: by mention, or in turn."


class PartSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    role = serializers.CharField()
    text = serializers.CharField()
    tokens = serializers.IntegerField()


class CountedMessageSerializer(serializers.Serializer[Any]):
    role = serializers.CharField()
    content = serializers.CharField()
    tokens = serializers.IntegerField()


class PreviewRequestSerializer(PromptRequestSerializer):
    """As of a prompt. ``history`` has no effect: a preview always has the conversation."""

    character = OwnedCharacterField(default=None, help_text=SPEAKER)
    preset = OwnedPresetField(default=None)


class PreviewSerializer(PromptSerializer):
    """The whole prompt as a model gets it."""

    slots = SlotSerializer(many=True)
    unified = serializers.CharField(source="memory.unified", allow_null=True)
    macros = serializers.DictField(source="memory.macros", child=serializers.CharField())  # type: ignore[assignment]
    turn_class = serializers.CharField(source="memory.turn_class")  # type: ignore[assignment]
    recall = RecallSerializer(source="memory.recall", allow_null=True)
    parts = PartSerializer(many=True)
    messages = CountedMessageSerializer(source="counted_messages", many=True)  # type: ignore[assignment]
    stable_tokens = serializers.IntegerField(
        help_text="Tokens at the beginning that are as in the last prompt, so that a provider's cache may have them."
    )


class ReplyRequestSerializer(StrictSerializer):
    integrity = serializers.UUIDField(allow_null=True, default=None, help_text="A stale one is refused with 409.")
    character = OwnedCharacterField(default=None, help_text=SPEAKER)
    mode = ChoiceField(choices=Generation.Mode.choices, default=Generation.Mode.REPLY)
    preset = OwnedPresetField(default=None)


class QuestionSerializer(StrictSerializer):
    query = TextField(max_length=4000, allow_blank=False, help_text="A question about the chat.")

    def validate_query(self, query: str) -> str:
        if not query.strip():
            raise serializers.ValidationError("It must contain a question.")
        return query


class SourcedAnswerSerializer(serializers.Serializer[SourcedAnswer]):
    """An answer with the search results that it rests on."""

    text = serializers.CharField(help_text="Numbers in brackets count the notes that the model was given.")
    sources = ResultSerializer(many=True, help_text="Those that the text names; all notes if it names none.")
    model = serializers.CharField(help_text="Empty if no model is connected: then the best notes are quoted.")


class GenerationSerializer(serializers.Serializer[Generation]):
    id = serializers.UUIDField(source="pk")
    chat = serializers.UUIDField(source="chat_id")
    message = serializers.UUIDField(
        source="message_id", allow_null=True, help_text="Null before the first text, and for an impersonation."
    )
    mode = serializers.ChoiceField(choices=Generation.Mode.choices)
    state = serializers.SerializerMethodField()
    text = serializers.CharField(help_text="What the model has said so far.")
    error = serializers.CharField()
    usage = serializers.DictField(child=serializers.IntegerField())

    @extend_schema_field(serializers.ChoiceField(choices=["queued", "running", "succeeded", "stopped", "failed"]))
    def get_state(self, generation: Generation) -> str:
        return state_of(generation)


class RequestedGenerationSerializer(serializers.Serializer[Any]):
    generation = GenerationSerializer()
