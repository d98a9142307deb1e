"""Carry recalls in exported files: entries name their source by its place and text, since an import has new ids."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any
from uuid import UUID

from rest_framework import serializers

from apps.chats.models import Chat, Message
from apps.common.api.serializer_fields import NumberField, PositionField, StrictBooleanField, StrictUUIDField, TextField
from apps.common.database.ids import uuid7
from apps.exchange.memories.recalls import says_recall
from apps.llm.tokens import count_tokens
from apps.memories.models import Memory
from apps.prompts.models import Recall
from apps.prompts.operations import KEPT_FIELDS
from apps.prompts.turns import text_hash

MAX_ENTRIES = 1000
MAX_SCORE = 1000.0

NOT_CARRIED = ("tokens", "rev", "versions", "lookups")  # counted again when imported; revisions start over


class ScoreField(NumberField):
    """A finite number of ordinary size."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(min_value=-MAX_SCORE, max_value=MAX_SCORE, **kwargs)


class SourceSerializer(serializers.Serializer[Any]):
    index = PositionField()
    hash = TextField(max_length=64)


class CarriedEntrySerializer(serializers.Serializer[Any]):
    # None for an entry that has the id of its message.
    id = StrictUUIDField(allow_null=True)
    score = ScoreField()
    signals = serializers.DictField(child=ScoreField())
    tier = TextField(max_length=32)
    kind = TextField(max_length=32)
    slot = TextField(max_length=32)
    text = TextField()
    why = TextField()
    message = SourceSerializer(allow_null=True)
    triggered = StrictBooleanField()
    budget = PositionField(required=False)


class CarriedLoreSerializer(serializers.Serializer[Any]):
    name = TextField()
    keys = serializers.ListField(child=TextField(), max_length=MAX_ENTRIES)
    text = TextField()
    tokens = PositionField()
    place = TextField(max_length=32)
    constant = StrictBooleanField()


class CarriedRecallSerializer(serializers.Serializer[Any]):
    text = TextField()
    edited = StrictBooleanField()
    deleted = StrictBooleanField()
    source = serializers.ChoiceField(choices=Recall.Source.choices)  # type: ignore[assignment]
    memories = CarriedEntrySerializer(many=True, max_length=MAX_ENTRIES)  # type: ignore[call-arg]
    left_out = CarriedEntrySerializer(many=True, max_length=MAX_ENTRIES)  # type: ignore[call-arg]
    left_out_count = PositionField()
    lore = CarriedLoreSerializer(many=True, max_length=MAX_ENTRIES, required=False)  # type: ignore[call-arg]
    turn_hash = TextField(max_length=64)


def exported_recalls(chat: Chat, messages: Sequence[Message]) -> dict[UUID, dict[str, Any]]:
    """Return the recalls of messages as JSON, by message id. Deleted ones are included, so that they stay deleted.

    Those that the message says in another program's form are left out.
    """
    by_id = {message.pk: message for message in messages}
    recalls = Recall.objects.for_owner(chat.owner_id).filter(message__in=list(by_id))
    stored = {
        recall.message_id: recall
        for recall in recalls
        if recall.message_id and not says_recall(by_id[recall.message_id], recall)
    }
    items = [item for recall in stored.values() for item in (*recall.memories, *recall.left_out)]
    ids = {item["message"] for item in items if item["message"]}
    sources = {str(message.pk): _source(message) for message in _messages(chat).filter(pk__in=ids)} if ids else {}
    return {pk: _exported(recall, sources) for pk, recall in stored.items()}


def read_recall(value: Any) -> dict[str, Any] | None:
    """Return an exported recall, validated, or None if it is damaged."""
    serializer = CarriedRecallSerializer(data=value)
    return dict(serializer.validated_data) if serializer.is_valid() else None


def import_recalls(chat: Chat, values: Mapping[UUID, dict[str, Any]]) -> None:
    """Store exported recalls, by ids of messages of the chat.

    Entries link to the messages of this chat and to memories of its owner that still exist, to nothing else.
    """
    items = [item for value in values.values() for item in (*value["memories"], *value["left_out"])]
    indexes = {item["message"]["index"] for item in items if item["message"]}
    messages = {
        (message.index, text_hash(message.mes)): str(message.pk)
        for message in (_messages(chat).filter(index__in=indexes) if indexes else ())
    }
    known = _own_memories(chat, items)
    Recall.objects.bulk_create(
        Recall(owner_id=chat.owner_id, chat=chat, message_id=pk, **_imported(value, messages, known))
        for pk, value in values.items()
    )


def _messages(chat: Chat) -> Any:
    return Message.objects.for_owner(chat.owner_id).filter(chat=chat).with_swipes()


def _source(message: Message) -> dict[str, Any]:
    """Return the place and the text of a message. A file that was changed elsewhere may have another there."""
    return {"index": message.index, "hash": text_hash(message.mes)}


def _own_memories(chat: Chat, items: Iterable[Mapping[str, Any]]) -> set[UUID]:
    ids = {item["id"] for item in items if item["id"] and item["tier"] in Memory.Tier.values}
    return (
        set(Memory.objects.for_owner(chat.owner_id).filter(pk__in=ids).values_list("pk", flat=True)) if ids else set()
    )


def _exported(recall: Recall, sources: Mapping[str, dict[str, Any]]) -> dict[str, Any]:
    values = {name: getattr(recall, name) for name in KEPT_FIELDS if name not in NOT_CARRIED}
    for name in ("memories", "left_out"):
        values[name] = [
            item
            | {
                "id": None if item["id"] == item["message"] else item["id"],
                "message": sources.get(item["message"]),
            }
            for item in values[name]
        ]
    return values


def _imported(value: Mapping[str, Any], messages: Mapping[Any, str], known: set[UUID]) -> dict[str, Any]:
    values = dict(value) | {"tokens": count_tokens(value["text"])}
    for name in ("memories", "left_out"):
        values[name] = [_linked(item, messages, known) for item in value[name]]
    return values


def _linked(item: Mapping[str, Any], messages: Mapping[Any, str], known: set[UUID]) -> dict[str, Any]:
    """Return an entry with ids of this account. What isn't known here gets a new id, which names nothing."""
    source = item["message"]
    message = messages.get((source["index"], source["hash"])) if source else None
    own = str(item["id"]) if item["id"] in known else str(uuid7())
    return {**item, "id": (message or own) if item["id"] is None else own, "message": message}
