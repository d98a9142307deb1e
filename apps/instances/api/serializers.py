"""Serializers of instances, identity files, conflicts and what instances exchange."""

from typing import Any

from django.core.validators import RegexValidator
from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers

from apps.common.api.serializer_fields import (
    BoundedListField,
    ChoiceField,
    StrictIntegerField,
    StrictSerializer,
    StrictUUIDField,
    TextField,
)
from apps.instances.models import Conflict, Instance, Item
from apps.instances.operations.targets import LONG_TERM, TIERS
from apps.instances.vector_clock import errors_of
from apps.memories.api.fields import InstanceNameField, NonBlankTextField
from apps.memories.api.serializers import MAX_TEXT_LENGTH
from apps.memories.journal.periods import Granularity, parse_period

MAX_LENGTH = 200_000  # characters of an identity file or a journal entry
FILENAME = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}\Z"


class ClockField(serializers.DictField):
    """A vector clock."""

    child = serializers.IntegerField()

    def to_internal_value(self, data: Any) -> dict[str, int]:
        for error in errors_of(data):
            raise serializers.ValidationError(error)
        return dict(data)


class FilenameField(TextField):
    """The name of an identity file."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(allow_blank=False, **kwargs)
        self.validators.append(RegexValidator(FILENAME, "It must be 1 to 100 letters, digits, dots, hyphens or _."))


class InstanceSerializer(serializers.Serializer[Instance]):
    """A program that shares its owner's memory."""

    id = serializers.CharField(source="name_id")
    type = serializers.CharField()
    name = serializers.CharField()
    priority = serializers.IntegerField()
    clock = ClockField(help_text="What it has passed; under its own id the counter from which it goes on.")
    last_contact = serializers.DateTimeField(allow_null=True)


class InstanceUpdateSerializer(StrictSerializer):
    type = TextField(max_length=64, required=False)
    name = TextField(max_length=100, required=False)
    priority = StrictIntegerField(min_value=-1000, max_value=1000, required=False)


class InstanceCreateSerializer(InstanceUpdateSerializer):
    id = InstanceNameField()


class FileSerializer(serializers.Serializer[Any]):
    """An identity file, without its version as instances exchange it."""

    category = ChoiceField(Item.Category.choices)
    filename = serializers.CharField()
    content = serializers.CharField(source="text")
    clock = ClockField()
    instance = serializers.CharField(help_text="The last writer.")
    updated_at = serializers.DateTimeField(source="changed_at")


class IdentityFileSerializer(FileSerializer):
    """An identity file with its version, or a past version of it."""

    version = serializers.IntegerField()


class ContentSerializer(StrictSerializer):
    content = TextField(max_length=MAX_LENGTH)


class FileNameSerializer(StrictSerializer):
    """The names in the path of an identity file."""

    category = ChoiceField(Item.Category.choices)
    filename = FilenameField()


class PushedFileSerializer(StrictSerializer):
    category = ChoiceField(Item.Category.choices)
    filename = FilenameField()
    content = TextField(max_length=MAX_LENGTH)
    clock = ClockField()
    instance = InstanceNameField()
    updated_at = serializers.DateTimeField()


class SharedMemorySerializer(serializers.Serializer[Any]):
    """A memory or a journal entry as instances pull it."""

    id = serializers.UUIDField(source="target")
    tier = ChoiceField(TIERS)
    period = serializers.SerializerMethodField()
    text = serializers.CharField()
    clock = ClockField()
    instance = serializers.SerializerMethodField(help_text="The last writer. For a daily: the instance it belongs to.")
    participating_instances = serializers.ListField(child=serializers.CharField())
    chat = serializers.SerializerMethodField()
    updated_at = serializers.DateTimeField(source="changed_at")

    def get_period(self, item: Item) -> str | None:
        return item.period or None

    def get_instance(self, item: Item) -> str:
        return item.written_for or item.instance

    def get_chat(self, item: Item) -> str | None:
        chat = self.context.get("chats", {}).get(item.target)
        return str(chat) if chat else None


class PushedMemorySerializer(StrictSerializer):
    id = StrictUUIDField(required=False, help_text="Needed except for a day, which its period and instance name.")
    tier = ChoiceField(TIERS)
    period = TextField(
        max_length=10,
        allow_null=True,
        default=None,
        help_text="Null for a long-term memory. Null for a significant entry is the day of its first `updated_at`.",
    )
    text = NonBlankTextField(max_length=MAX_LENGTH)
    clock = ClockField()
    instance = InstanceNameField()
    participating_instances = BoundedListField(child=InstanceNameField(), default=list, max_length=256)
    chat = StrictUUIDField(allow_null=True, default=None)
    updated_at = serializers.DateTimeField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        tier, period = attrs["tier"], attrs["period"]
        if "id" not in attrs and tier != Granularity.DAILY:
            raise serializers.ValidationError({"id": ["This field is required."]})
        if tier == LONG_TERM and period is not None:
            raise serializers.ValidationError({"period": ["A long-term memory has none."]})
        if tier == LONG_TERM and len(attrs["text"]) > MAX_TEXT_LENGTH:
            raise serializers.ValidationError({"text": [f"A memory has at most {MAX_TEXT_LENGTH} characters."]})
        if tier != LONG_TERM and (period is not None or tier != Granularity.SIGNIFICANT):
            _validate_period(tier, period or "")
        return attrs


def _validate_period(tier: str, period: str) -> None:
    try:
        parse_period(Granularity(tier), period)
    except ValueError as error:
        raise serializers.ValidationError({"period": [str(error)]}) from None


class TombstoneSerializer(StrictSerializer):
    """What was deleted: an identity file by category and filename, a memory by id."""

    kind = ChoiceField(Item.Kind.choices)
    id = StrictUUIDField(required=False)
    category = ChoiceField(Item.Category.choices, required=False)
    filename = FilenameField(required=False)
    clock = ClockField()
    instance = InstanceNameField()
    at = serializers.DateTimeField()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        names = {"identity": {"category", "filename"}, "memory": {"id"}}[attrs["kind"]]
        for name in ("id", "category", "filename"):
            if (name in attrs) != (name in names):
                detail = "This field is required." if name in names else f"It names no {attrs['kind']}."
                raise serializers.ValidationError({name: [detail]})
        return attrs


class PullSerializer(StrictSerializer):
    instance = InstanceNameField()
    since = ClockField(allow_null=True, default=None)


class PageSerializer(serializers.Serializer[Any]):
    """Query parameters of a pull."""

    limit = serializers.IntegerField(min_value=1, max_value=1000, default=1000)
    cursor = serializers.IntegerField(min_value=0, max_value=2**53 - 1, default=0)


class PulledSerializer(serializers.Serializer[Any]):
    clock = ClockField(help_text="The clock to pull from next time.")
    identity = FileSerializer(many=True)
    memories = SharedMemorySerializer(many=True)
    tombstones = TombstoneSerializer(many=True)
    next = serializers.CharField(allow_null=True, help_text="The cursor of the next page.")


class PushSerializer(StrictSerializer):
    instance = InstanceNameField()
    clock = ClockField()
    identity = PushedFileSerializer(many=True, default=list)
    memories = PushedMemorySerializer(many=True, default=list)
    tombstones = TombstoneSerializer(many=True, default=list)


class PushReportSerializer(serializers.Serializer[Any]):
    id = serializers.CharField(help_text="The id of a memory, or category and filename of an identity file.")
    winner = serializers.CharField(help_text="The instance whose version stands.")
    reason = serializers.CharField()
    conflict = serializers.UUIDField(allow_null=True, help_text="The conflict that a person settles.")


class PushedSerializer(serializers.Serializer[Any]):
    clock = ClockField()
    applied = serializers.IntegerField()
    merged = serializers.IntegerField()
    conflicts = PushReportSerializer(many=True)


class StatusSerializer(serializers.Serializer[Any]):
    clock = ClockField()
    instances = InstanceSerializer(many=True)
    open_conflicts = serializers.IntegerField()


class SideSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    instance = serializers.CharField()
    clock = ClockField()


class ConflictSerializer(serializers.Serializer[Conflict]):
    """Two concurrent texts of a memory or a journal entry. Ours stands until a person chooses."""

    id = serializers.UUIDField()
    memory = serializers.UUIDField(source="item.target")
    tier = serializers.CharField(source="item.tier")
    period = serializers.CharField(source="item.period", help_text="Empty for a long-term memory.")
    ours = SideSerializer(source="our_side")
    theirs = SideSerializer(source="their_side")
    choice = serializers.CharField(help_text="Empty while it is open.")
    settled_at = serializers.DateTimeField(allow_null=True)
    created_at = serializers.DateTimeField()


@extend_schema_field(
    {
        "oneOf": [
            {"type": "string", "enum": ["ours", "theirs", "both"]},
            {"type": "object", "required": ["text"], "properties": {"text": {"type": "string"}}},
        ]
    }
)
class SettlementField(serializers.Field[Any, Any, Any, Any]):
    """``"ours"``, ``"theirs"``, ``"both"``, or an object with the person's own ``text``."""

    def to_internal_value(self, data: Any) -> dict[str, str]:
        if isinstance(data, str) and data in ("ours", "theirs", "both"):
            return {"choice": data}
        if not isinstance(data, dict) or set(data) != {"text"}:
            raise serializers.ValidationError('It must be "ours", "theirs", "both" or {"text": …}.')
        return {"choice": "text", "text": NonBlankTextField(max_length=MAX_LENGTH).run_validation(data["text"])}


class SettleSerializer(StrictSerializer):
    choose = SettlementField()

    def validate_choose(self, choice: dict[str, str]) -> dict[str, str]:
        if self.context["tier"] == LONG_TERM and len(choice.get("text", "")) > MAX_TEXT_LENGTH:
            raise serializers.ValidationError(f"A memory has at most {MAX_TEXT_LENGTH} characters.")
        return choice
