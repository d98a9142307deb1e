"""Serializers for guarded writes to a chat, and for their responses."""

from dataclasses import replace
from functools import cache
from typing import Any
from uuid import UUID

from rest_framework import serializers
from rest_framework.request import Request

from apps.accounts.authentication import instance_of, writer_of
from apps.chats.formats.parsed import ParsedMessage, ParsedSwipe
from apps.chats.formats.sillytavern import MAX_SWIPES, NO_HEADER
from apps.chats.formats.sillytavern_lines import parse_message
from apps.chats.locking import Guard
from apps.chats.message_data.namespaces import MAX_KEY_LENGTH, MAX_NAMESPACE_LENGTH, DataChange
from apps.chats.models import Chat, Participant
from apps.chats.operations.patches import Patch, Splice
from apps.chats.serializers import MessageInputSerializer, MessageSerializer, SendDateField
from apps.common.api.serializer_fields import (
    BoundedListField,
    ChoiceField,
    JSONObjectField,
    PositionField,
    StrictBooleanField,
    StrictIntegerField,
    StrictSerializer,
    StrictUUIDField,
    TextField,
)
from apps.common.documents.json_patch import MAX_OPERATIONS, check_syntax
from apps.common.documents.patches import DocumentPatch
from apps.common.http.retries import KEY_HEADER
from apps.common.problems import Invalid
from apps.memories.api.tombstones import MemoryTombstoneSerializer

MAX_BATCH = 1000


class GuardedSerializer(StrictSerializer):
    """A guarded write to a chat or to the settings."""

    @property
    def fields(self) -> Any:
        """Return fields built once for the class: copying them for each request takes longer than the write itself."""
        return _fields_of(type(self))

    integrity = StrictUUIDField(required=False, allow_null=True)
    on_conflict = ChoiceField(choices=["fail", "rebase"], default="fail")
    force = StrictBooleanField(default=False)

    def guard(self, request: Request, *, optional: bool = False) -> Guard:
        """Return the guard that the request specifies; for ``optional``, see ``Guard``."""
        data = self.validated_data
        return Guard(
            data.get("integrity"),
            rebase=data["on_conflict"] == "rebase",
            force=data["force"],
            optional=optional,
            has_idempotency_key=KEY_HEADER in request.headers,
            writer=writer_of(request),
            instance=instance_of(request),
        )


class DocumentOperationsSerializer(GuardedSerializer):
    """A guarded write of a document by a JSON Patch."""

    operations = BoundedListField(
        child=JSONObjectField(), max_length=MAX_OPERATIONS, help_text="The operations of an RFC 6902 patch."
    )

    def document_patch(self) -> DocumentPatch:
        """Return the patch. Raise Invalid."""
        check_syntax(self.validated_data["operations"])
        return DocumentPatch(operations=self.validated_data["operations"])


@cache
def _fields_of(serializer_class: type[GuardedSerializer]) -> Any:
    return super(GuardedSerializer, serializer_class()).fields


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
        return [_parse_input(item, chat, pointer.format(n)) for n, item in enumerate(items)]


def _parse_input(line: dict[str, Any], chat: Chat, pointer: str) -> ParsedMessage:
    fields = {"name": _name(line, chat, pointer), "send_date": ""} | line
    fields.pop("participant", None)
    # There are no warnings: validation has already refused values that the parser would repair with a warning.
    message = parse_message(fields, NO_HEADER, lambda warning: None)
    return message if "send_date" in line else replace(message, send_date=None)


def _name(line: dict[str, Any], chat: Chat, pointer: str) -> str:
    """Return the name of a message, by default its speaker's. Raise Invalid if its participant is not in the chat."""
    participant_id = None if line["is_user"] else line.get("participant")
    participant = None if participant_id is None else _participant(participant_id, chat, f"{pointer}/participant")
    if "name" in line:
        return str(line["name"])
    if participant is not None:
        return participant.name
    if line["is_user"]:
        return chat.user_name
    return chat.character.name if chat.character else ""


class PatchSetSerializer(StrictSerializer):
    mes = TextField(required=False)
    name = TextField(max_length=200, required=False)
    participant = StrictUUIDField(required=False, allow_null=True)
    is_system = StrictBooleanField(required=False)
    send_date = SendDateField(required=False)


class NewSwipeSerializer(StrictSerializer):
    mes = TextField()
    extra = JSONObjectField(required=False)


class SpliceSerializer(StrictSerializer):
    at = PositionField(help_text="Offset in Unicode code points.")
    delete = PositionField(default=0)
    insert = TextField(default="")


class DataPatchSerializer(StrictSerializer):
    """Changes to the data that programs store with the active swipe."""

    namespace = TextField(max_length=MAX_NAMESPACE_LENGTH, allow_blank=False)
    values = JSONObjectField(default=dict, help_text="Keys to set. null is a value.")
    clear = BoundedListField(child=TextField(), default=list, max_length=1000, help_text="Keys to delete.")

    def validate_values(self, values: dict[str, Any]) -> dict[str, Any]:
        if not all(0 < len(key) <= MAX_KEY_LENGTH for key in values):
            raise serializers.ValidationError(f"A key must have 1 to {MAX_KEY_LENGTH} characters.")
        return values


class PatchSerializer(StrictSerializer):
    """Changes to one message, applied in the order of ``Patch``. ``delete`` can't be combined with others."""

    IDENTIFYING_FIELDS = {"id", "index", "if_rev"}

    id = StrictUUIDField(required=False)
    index = PositionField(required=False)
    if_rev = StrictIntegerField(min_value=1, required=False)
    add_swipe = NewSwipeSerializer(required=False)
    delete_swipe = PositionField(required=False)
    swipe_order = BoundedListField(child=PositionField(), required=False, max_length=MAX_SWIPES)
    swipe_id = PositionField(required=False)
    set = PatchSetSerializer(required=False)
    extra = JSONObjectField(required=False)
    data = DataPatchSerializer(required=False)  # type: ignore[assignment]
    splice = SpliceSerializer(required=False)
    insert_before = MessageInputSerializer(required=False)
    move_to = PositionField(required=False)
    delete = StrictBooleanField(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "id" not in attrs and "index" not in attrs:
            raise serializers.ValidationError({"id": ["Identify the message by id or by index."]})
        if "set" in attrs and not attrs["set"]:
            raise serializers.ValidationError({"set": ["Name at least one field to set."]})
        changes = set(attrs) - self.IDENTIFYING_FIELDS
        if attrs.get("delete") is False:
            raise serializers.ValidationError({"delete": ["It can only be true."]})
        if "delete" in changes and len(changes) > 1:
            raise serializers.ValidationError({"delete": ["A patch can't both delete and change its message."]})
        if not changes:
            raise serializers.ValidationError({"set": ["Name at least one change."]})
        return attrs


class PatchesSerializer(GuardedSerializer):
    patches = BoundedListField(child=PatchSerializer(), allow_empty=False, max_length=MAX_BATCH)

    def parsed_patches(self, chat: Chat) -> list[Patch]:
        """Return the patches. Raise Invalid."""
        items = self.validated_data["patches"]
        return [_patch(item, chat, f"/patches/{n}") for n, item in enumerate(items)]


def _patch(item: dict[str, Any], chat: Chat, pointer: str) -> Patch:
    new_swipe, splice, message = item.get("add_swipe"), item.get("splice"), item.get("insert_before")
    return Patch(
        values=_values(item.get("set", {}), chat, pointer),
        id=item.get("id"),
        index=item.get("index"),
        if_rev=item.get("if_rev"),
        add_swipe=ParsedSwipe(new_swipe["mes"], new_swipe.get("extra", {})) if new_swipe else None,
        delete_swipe=item.get("delete_swipe"),
        swipe_order=tuple(item["swipe_order"]) if "swipe_order" in item else None,
        swipe_id=item.get("swipe_id"),
        extra=item.get("extra"),
        data=_data_change(item["data"], f"{pointer}/data/values") if "data" in item else None,
        splice=Splice(**splice) if splice else None,
        insert_before=_parse_input(message, chat, f"{pointer}/insert_before") if message else None,
        move_to=item.get("move_to"),
        delete=item.get("delete", False),
    )


def _data_change(item: dict[str, Any], pointer: str) -> DataChange:
    return DataChange(item["namespace"], item["values"], frozenset(item["clear"]), pointer)


def _values(fields: dict[str, Any], chat: Chat, pointer: str) -> dict[str, Any]:
    """Return the values to set. A participant also sets the name, unless the request has one."""
    if "participant" not in fields:
        return fields
    values = {key: value for key, value in fields.items() if key != "participant"}
    if fields["participant"] is None:
        return values | {"participant_id": None}
    participant = _participant(fields["participant"], chat, f"{pointer}/set/participant")
    return {"name": participant.name} | values | {"participant_id": participant.pk}


def _participant(participant_id: UUID, chat: Chat, pointer: str) -> Participant:
    participant = chat.participants.filter(pk=participant_id).first()
    if participant is None:
        raise Invalid.at(pointer, "There is no such participant in this chat.")
    return participant


class UndoSerializer(GuardedSerializer):
    rev = StrictIntegerField(
        min_value=1, required=False, help_text="The write to undo. Default: the last one, which must be the caller's."
    )


class WrittenSerializer(serializers.Serializer[Any]):
    integrity = serializers.UUIDField()
    rev = serializers.IntegerField()


class PositionSerializer(serializers.Serializer[Any]):
    index = serializers.IntegerField()
    id = serializers.UUIDField()
    rev = serializers.IntegerField()


class AppendedSerializer(WrittenSerializer):
    message_count = serializers.IntegerField()
    appended = PositionSerializer(many=True)
    deduplicated = serializers.IntegerField()


class PatchedSerializer(WrittenSerializer):
    applied = serializers.IntegerField()
    skipped = serializers.IntegerField()
    messages = PositionSerializer(many=True)


class UndoneSerializer(WrittenSerializer):
    undone = serializers.IntegerField(help_text="The rev of the write that was undone.")
    kind = serializers.CharField(help_text="The kind of the write that was undone.")
    messages = PositionSerializer(many=True)
    deleted = serializers.ListField(child=serializers.UUIDField())
    metadata = serializers.DictField(allow_null=True)
    metadata_replaced = serializers.BooleanField()


class DetailsSerializer(serializers.Serializer[Any]):
    title = serializers.CharField()
    character = serializers.UUIDField(allow_null=True)
    user_name = serializers.CharField()
    persona = serializers.UUIDField(allow_null=True)


class ChangeSerializer(WrittenSerializer):
    kind = serializers.CharField()
    at = serializers.DateTimeField()
    messages = MessageSerializer(many=True)
    deleted = serializers.ListField(child=serializers.UUIDField())
    metadata = serializers.DictField(allow_null=True, help_text="An RFC 7396 merge patch.")
    metadata_replaced = serializers.BooleanField(help_text="Whether metadata is the whole document, not a patch.")
    chat = DetailsSerializer(allow_null=True, help_text="As it is now, if the write was of the kind `details`.")


class ChangesSerializer(WrittenSerializer):
    changes = ChangeSerializer(many=True)
    tombstones = MemoryTombstoneSerializer(
        many=True,
        help_text="Memories that the chat may have known, deleted since the write of `since`, the earliest first. A"
        " reply may repeat some.",
    )
    tombstones_until = serializers.DateTimeField(
        help_text="From which to ask next: `memories/tombstones/?chat=&since=`."
    )
    tombstones_complete = serializers.BooleanField(help_text="False: ask for the others at once.")
    next = serializers.URLField(allow_null=True, help_text="The next page.")
