"""Serializers of connections and usage."""

from typing import Any

from rest_framework import serializers

from apps.common.api.serializer_fields import (
    ChoiceField,
    JSONObjectField,
    StrictBooleanField,
    StrictIntegerField,
    StrictSerializer,
    TextField,
)
from apps.llm.apis import backend_choices
from apps.llm.models import (
    MAX_CONTEXT_TOKENS,
    MAX_NAME_LENGTH,
    MAX_PARALLEL_CALLS,
    MAX_TIMEOUT,
    MAX_URL_LENGTH,
    MIN_CONTEXT_TOKENS,
    PRICE_DIGITS,
    Connection,
)
from apps.llm.operations import MAX_KEY_LENGTH
from apps.llm.values import MAX_MODEL_LENGTH

PURPOSES = ("for_generation", "for_embeddings")


def validate_not_blank(text: str) -> None:
    """Raise ValidationError if a text contains only white space."""
    if not text.strip():
        raise serializers.ValidationError("It must not be blank.")


class PriceField(serializers.DecimalField):
    """Price as a decimal number, or null if it is unknown."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(**PRICE_DIGITS, min_value=0, allow_null=True, required=False, **kwargs)


class ConnectionSerializer(serializers.ModelSerializer[Connection]):
    """Representation of a connection, with the hint of its key instead of the key."""

    class Meta:
        model = Connection
        fields = [
            "id",
            "name",
            "backend",
            "base_url",
            "api_key_hint",
            "model",
            "embedding_model",
            "context_tokens",
            "timeout",
            "stream",
            "parallel_calls",
            "reasoning_effort",
            "extra_body",
            "prompt_price",
            "completion_price",
            "currency",
            *PURPOSES,
            "checked_at",
            "check_error",
            "constrains_replies",
            "created_at",
            "updated_at",
        ]
        read_only_fields = fields


class ConnectionUpdateSerializer(StrictSerializer):
    """Changes to a connection. Without ``api_key`` the key is kept; "" removes it."""

    name = TextField(max_length=MAX_NAME_LENGTH, allow_blank=False, validators=[validate_not_blank], required=False)
    backend = ChoiceField(backend_choices(), required=False)
    base_url = TextField(max_length=MAX_URL_LENGTH, allow_blank=False, required=False)
    api_key = TextField(max_length=MAX_KEY_LENGTH, required=False, write_only=True)
    model = TextField(max_length=MAX_MODEL_LENGTH, required=False)
    embedding_model = TextField(max_length=MAX_MODEL_LENGTH, required=False)
    context_tokens = StrictIntegerField(min_value=MIN_CONTEXT_TOKENS, max_value=MAX_CONTEXT_TOKENS, required=False)
    timeout = StrictIntegerField(
        min_value=1, max_value=MAX_TIMEOUT, required=False, help_text="Seconds without data from the server."
    )
    stream = StrictBooleanField(required=False)
    parallel_calls = StrictIntegerField(
        min_value=1,
        max_value=MAX_PARALLEL_CALLS,
        allow_null=True,
        required=False,
        help_text="Replies requested at the same time; further calls wait. null: 1 for a local server, else 4.",
    )
    reasoning_effort = ChoiceField(
        Connection.ReasoningEffort.choices, allow_blank=True, required=False, help_text='"": the server\'s default.'
    )
    extra_body = JSONObjectField(
        required=False,
        help_text="JSON merge patch of the body of each request for a reply; it can't set messages, model and stream.",
    )
    prompt_price = PriceField(help_text="Price of a million tokens sent.")
    completion_price = PriceField(help_text="Price of a million tokens received.")
    currency = TextField(max_length=3, allow_blank=False, required=False, help_text="Three capital letters.")
    for_generation = StrictBooleanField(required=False, help_text="At most one connection can have this set.")
    for_embeddings = StrictBooleanField(required=False, help_text="At most one connection can have this set.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Refuse an empty change."""
        if not attrs:
            raise serializers.ValidationError("Name at least one field to change.")
        return attrs

    def fields_of_connection(self) -> dict[str, Any]:
        """Return arguments for ``operations.create_connection`` and ``update_connection``."""
        return {name: value for name, value in self.validated_data.items() if name not in PURPOSES}

    def purposes(self, used: bool) -> dict[str, bool]:
        """Return arguments for ``operations.use_for``: the purposes that are to be set to ``used``."""
        return {name.removeprefix("for_"): used for name in PURPOSES if self.validated_data.get(name) is used}


class ConnectionCreateSerializer(ConnectionUpdateSerializer):
    """A new connection."""

    name = TextField(max_length=MAX_NAME_LENGTH, allow_blank=False, validators=[validate_not_blank])
    backend = ChoiceField(backend_choices())
    base_url = TextField(
        max_length=MAX_URL_LENGTH, required=False, help_text="Required except for a model in the browser."
    )


class ConnectionCheckSerializer(serializers.Serializer[Any]):
    """Result of a connection test."""

    ok = serializers.BooleanField()
    error = serializers.CharField(help_text="The error and what to do about it; empty if there is none.")
    models = serializers.ListField(child=serializers.CharField(), help_text="Model names listed by the server.")
    reply = serializers.CharField(help_text="The model's reply to a short prompt.")
    seconds = serializers.FloatField(help_text="Time that the reply took.")
    constrains_replies = serializers.BooleanField(
        allow_null=True, help_text="Whether the server enforces the form of replies; null if that is not known."
    )


class UsageTotalsSerializer(serializers.Serializer[Any]):
    """Totals of calls and tokens."""

    calls = serializers.IntegerField()
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    total_tokens = serializers.IntegerField()


class UsageDaySerializer(UsageTotalsSerializer):
    """Totals of one model on one day."""

    day = serializers.DateField(help_text="Day in UTC.")
    model = serializers.CharField()


class UsageSerializer(serializers.Serializer[Any]):
    """Schema of ``usage.limits.usage_document``."""

    today = UsageTotalsSerializer()
    limit = serializers.IntegerField(allow_null=True, help_text="Daily token limit; null if there is none.")
    days = UsageDaySerializer(many=True, help_text="The last 14, by model, oldest first.")
