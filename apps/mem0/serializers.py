"""The bodies that mem0's clients send. What would change nothing is taken and ignored, anything else is refused."""

import datetime as dt
from typing import Any

from rest_framework import serializers

from apps.common.api.serializer_fields import (
    BoundedListField,
    NumberField,
    StrictBooleanField,
    StrictIntegerField,
    StrictSerializer,
    StrictUUIDField,
    TextField,
)
from apps.common.scoping import MAX_NAMESPACE_LENGTH
from apps.memories.api.fields import MetadataField, NonBlankTextField, TagListField
from apps.memories.conditions import moment_of
from apps.memories.operations.memories import MAX_TEXT_LENGTH

# Of older clients, or hints on the way, that what is stored and found doesn't depend on.
IGNORED = (
    *("version", "output_format", "async_mode", "org_id", "project_id", "enable_graph", "api_version"),
    *("rerank", "keyword_search", "latest_only", "source"),
)


class Mem0Serializer(StrictSerializer):
    """A body of mem0's clients, or their query. An optional field that can't be null, and is, was left out."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, dict):
            left_out = {name for name, field in self.fields.items() if not field.required and not field.allow_null}
            data = {
                key: value
                for key, value in data.items()
                if key not in IGNORED and not (value is None and key in left_out)
            }
        return super().to_internal_value(data)


class MomentField(serializers.Field[dt.datetime, Any, Any, Any]):
    """Seconds since 1970, or a date or moment of ISO 8601. Of a date it is the first moment, or the first after it."""

    def __init__(self, *, ends: bool = False, **kwargs: Any) -> None:
        self.ends = ends
        super().__init__(**kwargs)

    def to_internal_value(self, data: Any) -> dt.datetime:
        return moment_of(data, (self.field_name or "",))[self.ends]


class IdsSerializer(Mem0Serializer):
    user_id = TextField(required=False, allow_null=True, max_length=MAX_NAMESPACE_LENGTH)
    agent_id = TextField(required=False, allow_null=True, max_length=200)
    app_id = TextField(required=False, allow_null=True, max_length=200)
    run_id = TextField(required=False, allow_null=True, max_length=200)


class AddSerializer(IdsSerializer):
    messages = serializers.JSONField()
    infer = StrictBooleanField(default=True)
    metadata = MetadataField(required=False, allow_null=True)
    categories = TagListField(default=list)
    expiration_date = MomentField(ends=True, required=False, allow_null=True)
    timestamp = MomentField(required=False, allow_null=True)
    filters = IdsSerializer(required=False, allow_null=True)


class FiltersSerializer(IdsSerializer):
    filters = serializers.JSONField(required=False, allow_null=True)
    categories = BoundedListField(child=TextField(max_length=50), required=False, allow_null=True, max_length=100)
    fields_ = BoundedListField(child=TextField(max_length=100), required=False, allow_null=True, max_length=100)

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        fields = super().get_fields()  # "fields" is an attribute of serializers
        return {"fields" if name == "fields_" else name: field for name, field in fields.items()}


class Mem0SearchSerializer(FiltersSerializer):
    query = NonBlankTextField(max_length=20_000)
    top_k = StrictIntegerField(min_value=1, max_value=200, default=10)
    limit = StrictIntegerField(min_value=1, max_value=200, required=False)
    threshold = NumberField(min_value=0, max_value=1, default=0.0)


class ListSerializer(FiltersSerializer):
    start_date = MomentField(required=False, allow_null=True)
    end_date = MomentField(ends=True, required=False, allow_null=True)
    show_expired = StrictBooleanField(default=False)


class PageQuery(Mem0Serializer):
    page = serializers.IntegerField(min_value=1, max_value=1_000_000, required=False)
    page_size = serializers.IntegerField(min_value=1, max_value=1000, required=False)
    org_id = serializers.CharField(required=False)
    project_id = serializers.CharField(required=False)


class ListQuery(IdsSerializer, PageQuery):
    filters = serializers.CharField(required=False)
    show_expired = serializers.BooleanField(default=False)


class DeletionQuery(PageQuery):
    delete_linked = serializers.BooleanField(default=False)


class ChangeSerializer(Mem0Serializer):
    text = NonBlankTextField(max_length=MAX_TEXT_LENGTH, required=False)
    memory = NonBlankTextField(max_length=MAX_TEXT_LENGTH, required=False)
    metadata = MetadataField(required=False, allow_null=True)
    timestamp = MomentField(required=False, allow_null=True)
    expiration_date = MomentField(ends=True, required=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs:
            raise serializers.ValidationError("Name at least one of text, metadata, timestamp and expiration_date.")
        return attrs


class BatchChangeSerializer(ChangeSerializer):
    memory_id = StrictUUIDField()


class BatchUpdatesSerializer(Mem0Serializer):
    memories = BoundedListField(child=BatchChangeSerializer(), allow_empty=False, max_length=1000)


class NamedMemorySerializer(Mem0Serializer):
    memory_id = StrictUUIDField()


class BatchDeletionSerializer(Mem0Serializer):
    memories = BoundedListField(child=NamedMemorySerializer(), allow_empty=False, max_length=1000)
