"""API of lorebooks."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats import operations
from apps.chats.dates import timestamp
from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.lorebook_entries import AFTER, BEFORE, MAX_ENTRIES
from apps.chats.models import Lorebook
from apps.chats.queries import access_lorebook
from apps.chats.serializers import OwnedCharacterField, OwnedChatField, OwnedPersonaField
from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import (
    BoundedListField,
    ChoiceField,
    JSONObjectField,
    NumberField,
    PositionField,
    StrictBooleanField,
    StrictSerializer,
    TextField,
    read_body,
)

MAX_KEYS = 10_000  # of an entry


class EntrySerializer(serializers.Serializer[Any]):
    """An entry in the format of cards, version 3. Unknown fields are kept."""

    id = serializers.JSONField(required=False)
    keys = BoundedListField(child=TextField(), required=False, max_length=MAX_KEYS)
    secondary_keys = BoundedListField(child=TextField(), required=False, max_length=MAX_KEYS)
    name = TextField(required=False)
    comment = TextField(required=False)
    content = TextField(required=False)
    enabled = StrictBooleanField(required=False)
    constant = StrictBooleanField(required=False)
    selective = StrictBooleanField(required=False)
    insertion_order = NumberField(required=False)
    priority = NumberField(required=False, allow_null=True)
    position = ChoiceField([BEFORE, AFTER], required=False)
    case_sensitive = StrictBooleanField(required=False, allow_null=True)
    use_regex = StrictBooleanField(required=False)
    extensions = JSONObjectField(required=False)

    def to_internal_value(self, data: Any) -> Any:
        return (
            {**data, **super().to_internal_value(data)} if isinstance(data, dict) else super().to_internal_value(data)
        )

    def to_representation(self, instance: Any) -> Any:
        return instance


class BookSerializer(StrictSerializer):
    """A lorebook in a request. `entries` are replaced as a whole."""

    name = TextField(max_length=MAX_NAME_LENGTH, allow_blank=False)
    character = OwnedCharacterField(required=False)
    persona = OwnedPersonaField(required=False)
    chat = OwnedChatField(required=False)
    description = TextField(required=False)
    scan_depth = PositionField(required=False, allow_null=True)
    token_budget = PositionField(required=False, allow_null=True)
    recursive_scanning = StrictBooleanField(required=False)
    extensions = JSONObjectField(required=False)
    entries = BoundedListField(child=EntrySerializer(), required=False, max_length=MAX_ENTRIES)


class LorebookSerializer(serializers.Serializer[Lorebook]):
    """A lorebook in a response, with all fields of its entries."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    character = serializers.UUIDField(allow_null=True)
    persona = serializers.UUIDField(allow_null=True, help_text="With whom the lorebook is used in any chat.")
    chat = serializers.UUIDField(allow_null=True, help_text="In which the lorebook is used, and in its branches.")
    source_format = serializers.CharField()
    description = serializers.CharField()
    scan_depth = serializers.IntegerField(allow_null=True)
    token_budget = serializers.IntegerField(allow_null=True)
    recursive_scanning = serializers.BooleanField()
    extensions = JSONObjectField()
    entries = EntrySerializer(many=True)
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def to_representation(self, instance: Lorebook) -> dict[str, Any]:
        members = ("description", "scan_depth", "token_budget", "recursive_scanning", "extensions", "entries")
        return {
            "id": str(instance.pk),
            "name": instance.name,
            "character": str(instance.character_id) if instance.character_id else None,
            "persona": str(instance.persona_id) if instance.persona_id else None,
            "chat": str(instance.chat_id) if instance.chat_id else None,
            "source_format": instance.source_format,
            **{key: instance.document[key] for key in members},
            "created_at": timestamp(instance.created_at),
            "updated_at": timestamp(instance.updated_at),
        }


@extend_schema_view(get=extend_schema(description="List the lorebooks, newest first."))
class LorebookListView(generics.ListAPIView[Lorebook]):
    serializer_class = LorebookSerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> Any:
        return Lorebook.objects.for_owner(self.request.user)

    @extend_schema(request=BookSerializer, responses={201: LorebookSerializer})
    def post(self, request: Request) -> Response:
        """Create a lorebook: of a character, a persona or a chat, or of none."""
        fields = read_body(BookSerializer, request)
        owners = {name: fields.pop(name, None) for name in ("character", "persona", "chat")}
        book = operations.create_lorebook(request.user, name=fields.pop("name"), document=fields, **owners)
        return Response(LorebookSerializer(book).data, status=status.HTTP_201_CREATED)


class LorebookView(APIView):
    @extend_schema(responses=LorebookSerializer)
    def get(self, request: Request, lorebook_id: UUID) -> Response:
        """Return a lorebook."""
        return Response(LorebookSerializer(access_lorebook(request.user, lorebook_id)).data)

    @extend_schema(request=BookSerializer(partial=True), responses=LorebookSerializer)
    def patch(self, request: Request, lorebook_id: UUID) -> Response:
        """Change a lorebook. Entries are replaced as a whole."""
        book = access_lorebook(request.user, lorebook_id)
        body = read_body(BookSerializer, request, partial=True)
        return Response(LorebookSerializer(operations.update_lorebook(book, **body)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, lorebook_id: UUID) -> Response:
        """Delete a lorebook."""
        operations.delete_lorebook(access_lorebook(request.user, lorebook_id))
        return Response(status=status.HTTP_204_NO_CONTENT)
