"""Serializers of the messages of a request: an append, and a message that a patch inserts."""

from dataclasses import replace
from typing import Any
from uuid import UUID

from rest_framework import serializers

from apps.chats.api.guarded import GuardedSerializer
from apps.chats.limits import MAX_BATCH, MAX_NAME_LENGTH, MAX_SWIPES
from apps.chats.message_data.namespaces import check_namespaces
from apps.chats.message_data.parsed import ParsedMessage, read_message
from apps.chats.models import Chat, Participant
from apps.chats.serializers import SendDateField
from apps.common.api.serializer_fields import (
    BoundedListField,
    JSONObjectField,
    StrictBooleanField,
    StrictIntegerField,
    TextField,
)
from apps.common.problems import Invalid


class MessageInputSerializer(serializers.Serializer[Any]):
    """A message in a request. Unknown fields are kept and exported again."""

    # Assigned by the server, and ignored in a request, so that a client may send back a copy of a message.
    ASSIGNED = ("id", "index", "rev", "hidden", "created_at", "updated_at")

    name = TextField(max_length=MAX_NAME_LENGTH, required=False)
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
            raise serializers.ValidationError({"swipe_id": [f"It must be less than the number of swipes, {count}."]})
        if len(attrs.get("swipe_info", [])) > count:
            raise serializers.ValidationError(
                {"swipe_info": [f"It can't have more items than there are swipes, {count}."]}
            )
        return attrs

    def to_internal_value(self, data: Any) -> dict[str, Any]:
        known = super().to_internal_value(data)
        return {key: known.get(key, value) for key, value in data.items() if key not in self.ASSIGNED} | known


class AppendSerializer(GuardedSerializer):
    messages = BoundedListField(child=MessageInputSerializer(), required=False, allow_empty=False, max_length=MAX_BATCH)
    message = MessageInputSerializer(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("messages" in attrs) == ("message" in attrs):
            raise serializers.ValidationError({"messages": ["Send either messages or message."]})
        return attrs

    def parsed_messages(self, chat: Chat) -> list[ParsedMessage]:
        """Return the messages. A missing name becomes the default one, a missing date None. Raise Invalid."""
        data = self.validated_data
        items = data["messages"] if "messages" in data else [data["message"]]
        pointer = "/messages/{}" if "messages" in data else "/message"
        return [parsed_input(item, chat, pointer.format(n)) for n, item in enumerate(items)]


def parsed_input(line: dict[str, Any], chat: Chat, pointer: str) -> ParsedMessage:
    _check_extras(line, pointer)
    fields = {"name": _name(line, chat, pointer), "send_date": ""} | line
    fields.pop("participant", None)
    message = read_message(fields)
    return message if "send_date" in line else replace(message, send_date=None)


def _check_extras(line: dict[str, Any], pointer: str) -> None:
    """Check the data of all swipes of a message. Raise Invalid, TooLarge."""
    check_namespaces(line.get("extra", {}), f"{pointer}/extra")
    for position, info in enumerate(line.get("swipe_info", ())):
        if isinstance(info.get("extra"), dict):
            check_namespaces(info["extra"], f"{pointer}/swipe_info/{position}/extra")


def _name(line: dict[str, Any], chat: Chat, pointer: str) -> str:
    """Return the name of a message, by default its speaker's. Raise Invalid if its participant is not in the chat."""
    participant_id = None if line["is_user"] else line.get("participant")
    participant = None if participant_id is None else participant_in(participant_id, chat, f"{pointer}/participant")
    if "name" in line:
        return str(line["name"])
    if participant is not None:
        return participant.name
    if line["is_user"]:
        return chat.user_name
    return chat.character.name if chat.character else ""


def participant_in(participant_id: UUID, chat: Chat, pointer: str) -> Participant:
    participant = chat.participants.filter(pk=participant_id).first()
    if participant is None:
        raise Invalid.at(pointer, "There is no such participant in this chat.")
    return participant
