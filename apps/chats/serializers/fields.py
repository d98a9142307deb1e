"""Fields of requests: things of the user, tags, dates."""

from typing import Any

from rest_framework import serializers

from apps.chats.dates import parse_date
from apps.chats.models import MAX_TAG_LENGTH, Character, Chat, Persona, refuse_comma
from apps.common.api.serializer_fields import OwnedField, TextField
from apps.llm.models import Connection
from apps.llm.queries import writing_connections


class OwnedCharacterField(OwnedField[Character]):
    """The id of one of the user's characters, or null."""

    def get_queryset(self) -> Any:
        return Character.objects.for_owner(self.context["request"].user)


class OwnedPersonaField(OwnedField[Persona]):
    """The id of one of the user's personas, or null."""

    def get_queryset(self) -> Any:
        return Persona.objects.for_owner(self.context["request"].user)


class OwnedConnectionField(OwnedField[Connection]):
    """The id of one of the user's connections that name a model, or null."""

    def get_queryset(self) -> Any:
        return writing_connections(self.context["request"].user)


class OwnedChatField(OwnedField[Chat]):
    """The id of one of the user's chats, or null."""

    def get_queryset(self) -> Any:
        return Chat.objects.for_owner(self.context["request"].user)


class TagsField(serializers.ListField):
    """The tags of a chat. Repeated ones are left out."""

    child = TextField(max_length=MAX_TAG_LENGTH, allow_blank=False, validators=[refuse_comma])

    def to_internal_value(self, data: Any) -> list[str]:
        return list(dict.fromkeys(super().to_internal_value(data)))


class SendDateField(serializers.JSONField):
    """A string or number that ``parse_date`` can read."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, bool) or not isinstance(data, str | int | float):
            raise serializers.ValidationError("It must be a string or a number.")
        if parse_date(data) is None:
            raise serializers.ValidationError("This date can't be read.")
        return data
