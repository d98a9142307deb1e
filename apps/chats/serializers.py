"""Render chats and messages as JSON, and validate requests.

Functions render the responses, since REST framework's fields take longer than the query. The serializers of
responses only document them in the schema.
"""

from typing import Any

from rest_framework import serializers

from apps.chats.change_log import Changes
from apps.chats.dates import parse_date, timestamp
from apps.chats.formats.sillytavern import MAX_SWIPES
from apps.chats.models import (
    MAX_TAG_LENGTH,
    MAX_TAGS,
    Character,
    Chat,
    ChatChange,
    ImportJob,
    Message,
    Persona,
    refuse_comma,
)
from apps.common.api.serializer_fields import (
    BoundedListField,
    JSONObjectField,
    StrictBooleanField,
    StrictIntegerField,
    StrictSerializer,
    TextField,
)

# Fields of a chat that say where it stands in the list. Changing them is no write to the chat.
ORGANIZATION_FIELDS = ("pinned", "archived", "tags")


def chat_document(chat: Chat) -> dict[str, Any]:
    return {
        "id": str(chat.pk),
        **details_document(chat),
        "metadata": chat.metadata,
        "integrity": str(chat.integrity),
        "rev": chat.rev,
        "message_count": chat.message_count,
        "is_group": chat.is_group,
        "parent": str(chat.parent_id) if chat.parent_id else None,
        "parent_index": chat.parent_index,
        "is_checkpoint": chat.is_checkpoint,
        "pinned": chat.pinned,
        "archived": chat.archived,
        "tags": chat.tags,
        "last_active": timestamp(chat.last_active),
        "last_used": timestamp(chat.last_used),
        "deleted_at": timestamp(chat.deleted_at),
        "created_at": timestamp(chat.created_at),
        "updated_at": timestamp(chat.updated_at),
    }


def details_document(chat: Chat) -> dict[str, Any]:
    """Return what a change of the kind ``details`` may have changed."""
    return {
        "title": chat.title,
        "character": str(chat.character_id) if chat.character_id else None,
        "user_name": chat.user_name,
        "persona": str(chat.persona_id) if chat.persona_id else None,
    }


def import_job_document(job: ImportJob) -> dict[str, Any]:
    return {
        "id": str(job.pk),
        "filename": job.filename,
        "state": job.state,
        "bytes_done": job.done,
        "bytes_total": job.total,
        "messages": job.messages,
        "chats": [str(chat.pk) for chat in job.chats.all()],
        "report": job.report or None,
        "error": job.error or None,
        "created_at": timestamp(job.created_at),
        "started_at": timestamp(job.started_at),
        "finished_at": timestamp(job.finished_at),
    }


def message_document(message: Message) -> dict[str, Any]:
    """Return a message as JSON. ``mes`` and ``extra`` are those of the active swipe."""
    swipes = message.ordered_swipes
    active = message.active_swipe
    return {
        "id": str(message.pk),
        "index": message.index,
        "rev": message.rev,
        "name": message.name,
        "participant": str(message.participant_id) if message.participant_id else None,
        "is_user": message.is_user,
        "is_system": message.is_system,
        "send_date": message.send_date,
        "mes": active.mes,
        "extra": active.extra,
        "swipe_id": message.swipe_id,
        "swipes": [swipe.mes for swipe in swipes],
        "swipe_info": [swipe.info | {"extra": swipe.extra} for swipe in swipes],
        "hidden": message.is_system,
        "created_at": timestamp(message.created_at),
        "updated_at": timestamp(message.updated_at),
    }


def change_documents(changes: Changes) -> list[dict[str, Any]]:
    """Return log entries as JSON, oldest first, each with the current state of what it names.

    A message stands in the last entry that names it.
    """
    last_revs = {message_id: entry.rev for entry in changes.entries for message_id in entry.message_ids}
    return [
        {
            "rev": entry.rev,
            "integrity": str(entry.integrity),
            "kind": entry.kind,
            "at": timestamp(entry.at),
            "messages": [
                message_document(changes.messages[message_id])
                for message_id in entry.message_ids
                if message_id in changes.messages and last_revs[message_id] == entry.rev
            ],
            "deleted": [str(message_id) for message_id in entry.deleted_ids],
            "metadata": entry.metadata,
            "metadata_replaced": entry.metadata_replaced,
            "chat": details_document(changes.chat) if entry.kind == ChatChange.Kind.DETAILS else None,
        }
        for entry in changes.entries
    ]


class ChatSerializer(serializers.Serializer[Chat]):
    """A chat in a response."""

    id = serializers.UUIDField()
    title = serializers.CharField()
    character = serializers.UUIDField(allow_null=True)
    user_name = serializers.CharField()
    persona = serializers.UUIDField(allow_null=True)
    metadata = JSONObjectField()
    integrity = serializers.UUIDField()
    rev = serializers.IntegerField()
    message_count = serializers.IntegerField()
    is_group = serializers.BooleanField()
    parent = serializers.UUIDField(allow_null=True)  # type: ignore[assignment]
    parent_index = serializers.IntegerField(allow_null=True)
    is_checkpoint = serializers.BooleanField()
    pinned = serializers.BooleanField()
    archived = serializers.BooleanField()
    tags = serializers.ListField(child=serializers.CharField())
    last_active = serializers.DateTimeField()
    last_used = serializers.DateTimeField(help_text="When its owner last wrote to it, changed or imported it.")
    deleted_at = serializers.DateTimeField(allow_null=True, help_text="When it was put into the bin.")
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def to_representation(self, instance: Chat) -> dict[str, Any]:
        return chat_document(instance)


class OwnedCharacterField(serializers.PrimaryKeyRelatedField[Character]):
    """The id of one of the user's characters, or null."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pk_field=serializers.UUIDField(), allow_null=True, **kwargs)

    def get_queryset(self) -> Any:
        return Character.objects.for_owner(self.context["request"].user)


class OwnedPersonaField(serializers.PrimaryKeyRelatedField[Persona]):
    """The id of one of the user's personas, or null."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pk_field=serializers.UUIDField(), allow_null=True, **kwargs)

    def get_queryset(self) -> Any:
        return Persona.objects.for_owner(self.context["request"].user)


class OwnedChatField(serializers.PrimaryKeyRelatedField[Chat]):
    """The id of one of the user's chats, or null."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pk_field=serializers.UUIDField(), allow_null=True, **kwargs)

    def get_queryset(self) -> Any:
        return Chat.objects.for_owner(self.context["request"].user)


class TagsField(serializers.ListField):
    """The tags of a chat. Repeated ones are left out."""

    child = TextField(max_length=MAX_TAG_LENGTH, allow_blank=False, validators=[refuse_comma])

    def to_internal_value(self, data: Any) -> list[str]:
        return list(dict.fromkeys(super().to_internal_value(data)))


class ChatUpdateSerializer(StrictSerializer):
    title = TextField(max_length=200, allow_blank=False, required=False)
    character = OwnedCharacterField(required=False)
    user_name = TextField(max_length=200, required=False, help_text="Default, if a persona is chosen: its name.")
    persona = OwnedPersonaField(required=False)
    pinned = StrictBooleanField(required=False)
    archived = StrictBooleanField(required=False)
    tags = TagsField(max_length=MAX_TAGS, required=False)


class ChatCreateSerializer(StrictSerializer):
    title = TextField(max_length=200, default="", help_text="Default: the character's name.")
    character = OwnedCharacterField(default=None)
    user_name = TextField(max_length=200, default="", help_text="Default: the persona's name.")
    persona = OwnedPersonaField(
        required=False, help_text="Default: the default persona, unless there is a `user_name`."
    )
    metadata = JSONObjectField(default=dict)
    greeting = StrictBooleanField(
        default=False, help_text="Begin with the character's first message; its alternatives become swipes."
    )


class MessageSerializer(serializers.Serializer[Message]):
    """A message in a response."""

    id = serializers.UUIDField()
    index = serializers.IntegerField()
    rev = serializers.IntegerField()
    name = serializers.CharField()
    participant = serializers.UUIDField(allow_null=True)
    is_user = serializers.BooleanField()
    is_system = serializers.BooleanField()
    send_date = serializers.JSONField()
    mes = serializers.CharField()
    extra = JSONObjectField()
    swipe_id = serializers.IntegerField()
    swipes = serializers.ListField(child=serializers.CharField())
    swipe_info = serializers.ListField(child=JSONObjectField())
    hidden = serializers.BooleanField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()

    def to_representation(self, instance: Message) -> dict[str, Any]:
        return message_document(instance)


class WindowSerializer(serializers.Serializer[Any]):
    integrity = serializers.UUIDField()
    rev = serializers.IntegerField()
    total = serializers.IntegerField()
    results = MessageSerializer(many=True)

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {"from": serializers.IntegerField()}


class SendDateField(serializers.JSONField):
    """A string or number that ``parse_date`` can read."""

    def to_internal_value(self, data: Any) -> Any:
        if isinstance(data, bool) or not isinstance(data, str | int | float):
            raise serializers.ValidationError("It must be a string or a number.")
        if parse_date(data) is None:
            raise serializers.ValidationError("This date can't be read.")
        return data


class MessageInputSerializer(serializers.Serializer[Any]):
    """A message in a request. Unknown fields are kept and exported again."""

    # Assigned by the server, and ignored in a request, so that a client may send back a copy of a message.
    ASSIGNED = ("id", "index", "rev", "hidden", "created_at", "updated_at")

    name = TextField(max_length=200, required=False)
    participant = serializers.UUIDField(required=False, allow_null=True)
    is_user = StrictBooleanField(default=False)
    is_system = StrictBooleanField(default=False)
    send_date = SendDateField(required=False)
    mes = TextField()
    extra = JSONObjectField(required=False)
    swipe_id = StrictIntegerField(min_value=0, required=False)
    swipes = BoundedListField(child=TextField(), required=False, allow_empty=False, max_length=MAX_SWIPES)
    swipe_info = BoundedListField(child=JSONObjectField(), required=False, max_length=MAX_SWIPES)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        """Check that ``swipe_id`` and ``swipe_info`` fit the number of swipes."""
        count = len(attrs.get("swipes", [attrs["mes"]]))
        if attrs.get("swipe_id", 0) >= count:
            raise serializers.ValidationError({"swipe_id": [f"There are {count} swipes."]})
        if len(attrs.get("swipe_info", [])) > count:
            raise serializers.ValidationError({"swipe_info": [f"There are {count} swipes."]})
        return attrs

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        known = super().to_internal_value(data)
        return {key: known.get(key, value) for key, value in data.items() if key not in self.ASSIGNED} | known
