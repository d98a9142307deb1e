"""Serializers of patches, undo and changes, and of the responses to all writes to a chat."""

from typing import Any

from rest_framework import serializers

from apps.chats.api.guarded import GuardedSerializer
from apps.chats.limits import MAX_BATCH, MAX_SWIPES
from apps.chats.message_data.namespaces import MAX_KEY_LENGTH, MAX_NAMESPACE_LENGTH, DataChange, check_namespaces
from apps.chats.message_data.parsed import ParsedSwipe
from apps.chats.models import Chat
from apps.chats.operations.patches import Patch, Splice
from apps.chats.serializers import MessageSerializer, SendDateField
from apps.common.api.serializer_fields import (
    BoundedListField,
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
from apps.memories.api.tombstones import MemoryTombstoneSerializer
from apps.sync.api.messages import MessageInputSerializer, parsed_input, participant_in


class DocumentOperationsSerializer(GuardedSerializer):
    """A guarded write of a document by a JSON Patch."""

    operations = BoundedListField(
        child=JSONObjectField(), max_length=MAX_OPERATIONS, help_text="The operations of an RFC 6902 patch."
    )

    def document_patch(self) -> DocumentPatch:
        """Return the patch. Raise Invalid."""
        check_syntax(self.validated_data["operations"])
        return DocumentPatch(operations=self.validated_data["operations"])


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
    """Changes to the data that programs store with a swipe."""

    namespace = TextField(max_length=MAX_NAMESPACE_LENGTH, allow_blank=False)
    swipe = PositionField(required=False, help_text="Default: the swipe that is active after the patch.")
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
        add_swipe=_new_swipe(new_swipe, f"{pointer}/add_swipe") if new_swipe else None,
        delete_swipe=item.get("delete_swipe"),
        swipe_order=tuple(item["swipe_order"]) if "swipe_order" in item else None,
        swipe_id=item.get("swipe_id"),
        extra=item.get("extra"),
        data=_data_change(item["data"], f"{pointer}/data/values") if "data" in item else None,
        splice=Splice(**splice) if splice else None,
        insert_before=parsed_input(message, chat, f"{pointer}/insert_before") if message else None,
        move_to=item.get("move_to"),
        delete=item.get("delete", False),
    )


def _new_swipe(item: dict[str, Any], pointer: str) -> ParsedSwipe:
    extra = item.get("extra", {})
    check_namespaces(extra, f"{pointer}/extra")
    return ParsedSwipe(item["mes"], extra)


def _data_change(item: dict[str, Any], pointer: str) -> DataChange:
    return DataChange(item["namespace"], item["values"], frozenset(item["clear"]), pointer, item.get("swipe"))


def _values(fields: dict[str, Any], chat: Chat, pointer: str) -> dict[str, Any]:
    """Return the values to set. A participant also sets the name, unless the request has one."""
    if "participant" not in fields:
        return fields
    values = {key: value for key, value in fields.items() if key != "participant"}
    if fields["participant"] is None:
        return values | {"participant_id": None}
    participant = participant_in(fields["participant"], chat, f"{pointer}/set/participant")
    return {"name": participant.name} | values | {"participant_id": participant.pk}


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
    replaced_keys = serializers.ListField(child=serializers.CharField())


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
    metadata_replaced = serializers.BooleanField(
        help_text="Whether metadata is the whole document, not a patch: of some entries of old versions."
    )
    replaced_keys = serializers.ListField(
        child=serializers.CharField(),
        help_text="Keys of which metadata has the value itself, with its nulls, instead of a patch.",
    )
    chat = DetailsSerializer(
        allow_null=True, help_text="As it is now, if the write was of the kind `details`, or undid one."
    )


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
