"""Serializers of calls of a model in the browser."""

from typing import Any

from rest_framework import serializers

from apps.common.api.serializer_fields import (
    ChoiceField,
    StrictBooleanField,
    StrictIntegerField,
    StrictSerializer,
    StrictUUIDField,
    TextField,
)
from apps.llm.models import BrowserCall
from apps.llm.values import MAX_TOKENS

TOKENS: dict[str, Any] = {"min_value": 0, "max_value": MAX_TOKENS, "required": False, "allow_null": True}


class BrowserPageSerializer(StrictSerializer):
    """The page that runs calls."""

    page = StrictUUIDField(help_text="An id that the page has chosen for itself. It is a new one each time it loads.")


class BrowserProgressSerializer(BrowserPageSerializer):
    """A call that goes on."""

    text = TextField(required=False, help_text="The whole reply so far, if it is known.")


class BrowserReplySerializer(BrowserPageSerializer):
    """The end of a call: its reply, or why there is none."""

    text = TextField(required=False, help_text="The whole reply.")
    prompt_tokens = StrictIntegerField(**TOKENS, help_text="Counted by Loci if it is missing.")
    completion_tokens = StrictIntegerField(**TOKENS, help_text="Counted by Loci if it is missing.")
    cut_off = StrictBooleanField(default=False, help_text="Whether a limit of tokens ended the reply early.")
    error = TextField(required=False, allow_blank=False, help_text="Why there is no reply, instead of `text`.")
    refused = StrictBooleanField(default=False, help_text="Whether the same call would fail again.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Require either a text or an error."""
        if ("text" in attrs) == ("error" in attrs):
            raise serializers.ValidationError({"text": ["Send either a text or an error."]})
        return attrs


class CallMessageSerializer(serializers.Serializer[Any]):
    """Message of a prompt."""

    role = ChoiceField(["system", "user", "assistant"])
    content = serializers.CharField()


class BrowserCallSerializer(serializers.Serializer[BrowserCall]):
    """A call that a page runs."""

    id = serializers.UUIDField()
    task = serializers.CharField(source="request.task", help_text="What the reply is for, such as `reply`.")
    model = serializers.CharField(source="request.model", help_text="The connection's model.")
    messages = CallMessageSerializer(source="request.messages", many=True)
    max_tokens = serializers.IntegerField(source="request.max_tokens")
    temperature = serializers.FloatField(source="request.temperature")
    top_p = serializers.FloatField(source="request.top_p", allow_null=True)
    top_k = serializers.IntegerField(source="request.top_k", allow_null=True)
    min_p = serializers.FloatField(source="request.min_p", allow_null=True)
    repetition_penalty = serializers.FloatField(source="request.repetition_penalty", allow_null=True)
    stop = serializers.ListField(
        source="request.stop", child=serializers.CharField(), help_text="Texts that end the reply."
    )
    extra_body = serializers.DictField(
        source="request.extra_body",
        help_text="The connection's further parameters, such as `seed`: a JSON merge patch of the fields above.",
    )
