"""The envelopes of append and patch."""

from dataclasses import replace
from typing import Any

from rest_framework import serializers

from apps.chats.api.serializers import MessageInputSerializer, MessageSerializer, SendDate
from apps.chats.formats.parsed import ParsedMessage
from apps.chats.formats.sillytavern import NO_HEADER
from apps.chats.formats.sillytavern_lines import parse_message
from apps.chats.integrity import Guard
from apps.chats.models import Chat
from apps.chats.patches import Patch
from apps.common.serializer_fields import Flag, Integer, StrictSerializer, Text

MAX_BATCH = 1000


class GuardedSerializer(StrictSerializer):
    """What every guarded write carries beside its content."""

    integrity = serializers.UUIDField(required=False, allow_null=True)
    on_conflict = serializers.ChoiceField(choices=["fail", "rebase"], default="fail")
    force = Flag(default=False)

    def guard(self) -> Guard:
        data = self.validated_data
        return Guard(data.get("integrity"), rebase=data["on_conflict"] == "rebase", force=data["force"])


class AppendSerializer(GuardedSerializer):
    messages = serializers.ListField(
        child=MessageInputSerializer(), required=False, allow_empty=False, max_length=MAX_BATCH
    )
    message = MessageInputSerializer(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if ("messages" in attrs) == ("message" in attrs):
            raise serializers.ValidationError({"messages": ["Send either messages or message."]})
        return attrs

    def parsed(self, chat: Chat) -> list[ParsedMessage]:
        """The messages as they will be stored, with the names that they left out; a date left out is None."""
        data = self.validated_data
        lines = data["messages"] if "messages" in data else [data["message"]]
        return [_parsed(line, chat) for line in lines]


def _parsed(line: dict[str, Any], chat: Chat) -> ParsedMessage:
    character = chat.character.name if chat.character else ""
    given = {"name": chat.user_name if line["is_user"] else character, "send_date": ""} | line
    message = parse_message(given, NO_HEADER, _ignore)
    return message if "send_date" in line else replace(message, send_date=None)


def _ignore(warning: str) -> None:
    """The envelope is already validated: what could be repaired has been refused by name."""


class PatchSetSerializer(StrictSerializer):
    mes = Text(required=False)
    name = Text(max_length=200, required=False)
    is_system = Flag(required=False)
    send_date = SendDate(required=False)


class PatchSerializer(StrictSerializer):
    id = serializers.UUIDField(required=False)
    index = Integer(min_value=0, max_value=2**31 - 1, required=False)
    if_rev = Integer(min_value=1, required=False)
    set = PatchSetSerializer()

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "id" not in attrs and "index" not in attrs:
            raise serializers.ValidationError({"id": ["Name the message by id or by index."]})
        if not attrs["set"]:
            raise serializers.ValidationError({"set": ["Name at least one field to set."]})
        return attrs


class PatchesSerializer(GuardedSerializer):
    patches = serializers.ListField(child=PatchSerializer(), allow_empty=False, max_length=MAX_BATCH)

    def parsed(self) -> list[Patch]:
        return [
            Patch(
                values=item["set"],
                id=item.get("id"),
                index=item.get("index"),
                if_rev=item.get("if_rev"),
            )
            for item in self.validated_data["patches"]
        ]


class WrittenSerializer(serializers.Serializer[Any]):
    integrity = serializers.UUIDField()
    rev = serializers.IntegerField()


class PlaceSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    id = serializers.UUIDField()
    rev = serializers.IntegerField()


class AppendedSerializer(WrittenSerializer):
    message_count = serializers.IntegerField()
    appended = PlaceSerializer(many=True)
    deduplicated = serializers.IntegerField()


class PatchedSerializer(WrittenSerializer):
    applied = serializers.IntegerField()
    skipped = serializers.IntegerField()
    messages = PlaceSerializer(many=True)


class ChangeSerializer(WrittenSerializer):
    kind = serializers.CharField()
    at = serializers.DateTimeField()
    messages = MessageSerializer(many=True)
    deleted = serializers.ListField(child=serializers.UUIDField())
    metadata = serializers.DictField(allow_null=True)


class ChangesSerializer(WrittenSerializer):
    changes = ChangeSerializer(many=True)
