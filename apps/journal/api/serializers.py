"""Serializers of requests about the journal."""

import datetime as dt
from typing import Any

from django.utils import timezone
from rest_framework import serializers

from apps.accounts.instance_names import LOCI
from apps.common.api.serializer_fields import ChoiceField, StrictSerializer, TextField
from apps.memories.api.fields import InstanceNameField
from apps.memories.journal.periods import CONSOLIDATED, WRITTEN, Granularity, Period, parse_period

MAX_TEXT_LENGTH = 20_000
MAX_TITLE_LENGTH = 200
MAX_INSTANCE_LENGTH = 100


class GranularityField(ChoiceField):
    """One of some levels of the journal."""

    def to_internal_value(self, data: Any) -> Granularity:
        return Granularity(super().to_internal_value(data))


class EntryFilterSerializer(serializers.Serializer[Any]):
    """Filters of the list of entries."""

    granularity = GranularityField([level.value for level in Granularity], required=False)
    instance = serializers.CharField(max_length=MAX_INSTANCE_LENGTH, required=False, allow_blank=True)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # "from" is a keyword of Python and can't be declared as an attribute.
        days = {
            "from": serializers.DateField(required=False, help_text="Only periods that end on this day or later."),
            "to": serializers.DateField(required=False, help_text="Only periods that begin on this day or earlier."),
        }
        return super().get_fields() | days

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs.get("from", dt.date.min) > attrs.get("to", dt.date.max):
            raise serializers.ValidationError({"to": ["It must not be before `from`."]})
        return attrs


class EntryCreateSerializer(StrictSerializer):
    """A daily, whose bullets are merged with those that are there, or a significant entry."""

    granularity = GranularityField([level.value for level in WRITTEN])
    period = TextField(
        max_length=10,
        allow_null=True,
        default=None,
        help_text="A day, such as 2026-11-21. Of a significant entry, null is today in the user's time zone.",
    )
    instance = InstanceNameField(
        allow_blank=True,
        default="",
        help_text="Of a daily; left out, that of the token, or Loci itself, whose dailies have an empty one.",
    )
    title = TextField(max_length=MAX_TITLE_LENGTH, default="")
    text = TextField(max_length=MAX_TEXT_LENGTH, allow_blank=False)

    def validate_instance(self, instance: str) -> str:
        if instance == LOCI:
            raise serializers.ValidationError(f"{LOCI!r} is Loci itself. Leave it empty.")
        return instance

    def validate_text(self, text: str) -> str:
        return not_blank(text)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        granularity = attrs.pop("granularity")
        if attrs["period"] is None and granularity == Granularity.SIGNIFICANT:
            attrs["period"] = timezone.now().astimezone(self.context["request"].user.zone).date().isoformat()
        if attrs["period"] is None:
            raise serializers.ValidationError({"period": ["It is missing."]})
        attrs["period"] = period_or_invalid(granularity, attrs["period"])
        if granularity == Granularity.SIGNIFICANT and attrs["instance"]:
            raise serializers.ValidationError({"instance": ["A significant entry has no instance."]})
        return attrs


class EntryUpdateSerializer(StrictSerializer):
    """A person's correction of an entry."""

    title = TextField(max_length=MAX_TITLE_LENGTH, required=False)
    text = TextField(max_length=MAX_TEXT_LENGTH, allow_blank=False, required=False)

    def validate_text(self, text: str) -> str:
        return not_blank(text)


class ConsolidateSerializer(StrictSerializer):
    """What to consolidate: all that is due, all that is due of one level, or one period with those below it."""

    granularity = GranularityField([level.value for level in CONSOLIDATED], allow_null=True, default=None)
    period = TextField(max_length=10, allow_null=True, default=None, help_text="Such as 2026-W47, 2026-11 or 2026.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["period"] is not None:
            if attrs["granularity"] is None:
                raise serializers.ValidationError({"granularity": ["A period needs its granularity."]})
            attrs["period"] = period_or_invalid(attrs["granularity"], attrs["period"])
        return attrs


class PeriodSerializer(serializers.Serializer[Period]):
    """A period of the journal."""

    granularity = ChoiceField([level.value for level in CONSOLIDATED])
    period = serializers.CharField(source="name")


class PeriodsSerializer(serializers.Serializer[Any]):
    """The periods whose entries will be made."""

    periods = PeriodSerializer(many=True)


def period_or_invalid(granularity: Granularity, name: str) -> Period:
    """Return the period with a name. Raise ValidationError if there is none."""
    try:
        return parse_period(granularity, name)
    except ValueError:
        raise serializers.ValidationError({"period": [f"It is not a {granularity} period."]}) from None


def not_blank(text: str) -> str:
    """Return ``text``. Raise ValidationError if it is only white space."""
    if not text.strip():
        raise serializers.ValidationError("It must contain something.")
    return text
