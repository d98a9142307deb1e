"""API of generation presets."""

from typing import Any

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, serializers

from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import (
    BoundedListField,
    NumberField,
    StrictBooleanField,
    StrictIntegerField,
    StrictSerializer,
    TextField,
)
from apps.common.settings.declarations import Setting
from apps.replies.models import MAX_STOP_LENGTH, MAX_STOPS, GenerationPreset
from apps.replies.preset_numbers import NUMBERS
from apps.replies.presets import create_preset, list_presets, update_preset


class OwnedPresetField(serializers.PrimaryKeyRelatedField[GenerationPreset]):
    """The id of one of the user's generation presets, or null."""

    def __init__(self, **kwargs: Any) -> None:
        help_text = "A generation preset; null: the default one."
        super().__init__(pk_field=serializers.UUIDField(), allow_null=True, help_text=help_text, **kwargs)

    def get_queryset(self) -> Any:
        return list_presets(self.context["request"].user)


def number_field(setting: Setting, **options: Any) -> serializers.Field[Any, Any, Any, Any]:
    """Return the field of a declared number, which may be null if its default is None."""
    limits: dict[str, Any] = {"min_value": setting.low, "max_value": setting.high}
    field = StrictIntegerField if setting.kind is int else NumberField
    return field(required=False, allow_null=setting.default is None, **limits, **options)


class GenerationPresetSerializer(StrictSerializer, serializers.ModelSerializer[GenerationPreset]):
    name = TextField(max_length=200, allow_blank=False)
    is_default = StrictBooleanField(required=False, help_text="Used where none is chosen. At most one preset is.")
    temperature = number_field(NUMBERS["temperature"])
    top_p = number_field(NUMBERS["top_p"], help_text="Null: the server's own.")
    top_k = number_field(NUMBERS["top_k"], help_text="0: no limit; null: the server's own.")
    min_p = number_field(NUMBERS["min_p"], help_text="Null: the server's own.")
    repetition_penalty = number_field(NUMBERS["repetition_penalty"], help_text="1: none; null: the server's own.")
    max_tokens = number_field(NUMBERS["max_tokens"], help_text="At most half of the context is used.")
    stop = BoundedListField(
        child=TextField(allow_blank=False, max_length=MAX_STOP_LENGTH),
        max_length=MAX_STOPS,
        required=False,
        help_text="Texts that end a reply, with macros for names.",
    )
    system_prompt = TextField(required=False, help_text="For cards without one; their `{{original}}`.")
    post_history_instructions = TextField(required=False, help_text="For cards without any; their `{{original}}`.")

    class Meta:
        model = GenerationPreset
        fields = (
            *("id", "name", "is_default", "temperature", "top_p", "top_k", "min_p", "repetition_penalty"),
            *("max_tokens", "stop", "system_prompt", "post_history_instructions", "created_at", "updated_at"),
        )


@extend_schema_view(
    get=extend_schema(description="List the presets, newest first."),
    post=extend_schema(description="Create a preset. The first one is the default."),
)
class PresetListView(generics.ListCreateAPIView[GenerationPreset]):
    serializer_class = GenerationPresetSerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> Any:
        return list_presets(self.request.user)

    def perform_create(self, serializer: Any) -> None:
        """Create a preset. The first one is the default."""
        serializer.instance = create_preset(self.request.user, **serializer.validated_data)


@extend_schema_view(
    get=extend_schema(description="Return a preset."),
    patch=extend_schema(description="Change a preset."),
    delete=extend_schema(description="Delete a preset."),
)
class PresetView(generics.RetrieveUpdateDestroyAPIView[GenerationPreset]):
    serializer_class = GenerationPresetSerializer
    lookup_url_kwarg = "preset_id"
    http_method_names = ["get", "patch", "delete", "head", "options"]

    def get_queryset(self) -> Any:
        return list_presets(self.request.user)

    def perform_update(self, serializer: Any) -> None:
        serializer.instance = update_preset(serializer.instance, **serializer.validated_data)
