"""Serializers of webhooks and deliveries."""

from typing import Any

from rest_framework import serializers

from apps.common.api.serializer_fields import ChoiceField, StrictBooleanField, StrictSerializer, TextField
from apps.common.problems import Invalid
from apps.webhooks.models import Delivery, Event, Webhook
from apps.webhooks.operations import checked


class WebhookSerializer(serializers.ModelSerializer[Webhook]):
    """Representation of a webhook, without its secret."""

    events: Any = serializers.ListField(child=serializers.ChoiceField(Event.choices))

    class Meta:
        model = Webhook
        fields = ["id", "url", "events", "active", "created_at"]
        read_only_fields = fields


class CreatedWebhookSerializer(WebhookSerializer):
    """Representation of a new webhook, with the secret that is shown this once."""

    secret = serializers.CharField(read_only=True)

    class Meta(WebhookSerializer.Meta):
        fields = [*WebhookSerializer.Meta.fields, "secret"]
        read_only_fields = fields


class WebhookUpdateSerializer(StrictSerializer):
    """Changes to a webhook."""

    url = TextField(max_length=500, allow_blank=False, required=False)
    events = serializers.ListField(child=ChoiceField(Event.choices), allow_empty=False, max_length=20, required=False)
    active = StrictBooleanField(required=False)

    def validate_url(self, url: str) -> str:
        """Check the address with the other fields, so that all that is wrong is told at once."""
        try:
            return checked(url)
        except Invalid as error:
            raise serializers.ValidationError(error.detail) from None


class WebhookCreateSerializer(WebhookUpdateSerializer):
    """A new webhook."""

    url = TextField(max_length=500, allow_blank=False)
    events = serializers.ListField(child=ChoiceField(Event.choices), allow_empty=False, max_length=20)


class DeliverySerializer(serializers.ModelSerializer[Delivery]):
    """Representation of a delivery."""

    data: Any = serializers.DictField()

    class Meta:
        model = Delivery
        fields = [
            "id",
            "event",
            "data",
            "state",
            "attempts",
            "due_at",
            "status",
            "error",
            "created_at",
            "delivered_at",
        ]
        read_only_fields = fields
