"""Serializers of prompts and recalls."""

from collections.abc import Sequence
from typing import Any

from rest_framework import serializers

from apps.chats.serializers import OwnedCharacterField
from apps.common.api.serializer_fields import (
    JSONObjectField,
    StrictBooleanField,
    StrictIntegerField,
    StrictSerializer,
    TextField,
)
from apps.common.scoping import Owner
from apps.graph.building import graph_of
from apps.prompts.models import Recall
from apps.prompts.queries import entities_by_memory, is_outdated

MAX_TEXT_LENGTH = 100_000  # characters of an edited recall
MAX_CONTEXT_TOKENS = 10_000_000
DEFAULT_CONTEXT_TOKENS = 8192


class PromptRequestSerializer(StrictSerializer):
    # As long as a message may be.
    text = TextField(
        allow_null=True,
        default=None,
        help_text="The user turn about to be sent; null for the last one.",
    )
    character = OwnedCharacterField(
        default=None,
        help_text="Who speaks; in a group a member. Null: the chat's own character; in a group in which that one takes "
        "no part, the prompt has only what all members know.",
    )
    context_tokens = StrictIntegerField(min_value=1, max_value=MAX_CONTEXT_TOKENS, default=DEFAULT_CONTEXT_TOKENS)
    history = StrictBooleanField(default=False)


class RecallUpdateSerializer(StrictSerializer):
    text = TextField(max_length=MAX_TEXT_LENGTH)
    rev = StrictIntegerField(
        min_value=1,
        required=False,
        help_text="That of the text which was edited: a 409 if there is another one by now. Left out: last write wins.",
    )


class RecallVersionSerializer(serializers.Serializer[Any]):
    rev = serializers.IntegerField()
    text = serializers.CharField()
    edited = serializers.BooleanField(help_text="Whether a person wrote it.")
    tokens = serializers.IntegerField()
    at = serializers.DateTimeField(help_text="When it was written.")


class SlotSerializer(serializers.Serializer[Any]):
    name = serializers.CharField(source="slot.name")
    role = serializers.CharField(source="slot.role")
    position = serializers.ChoiceField(source="slot.position", choices=["in_prompt", "in_chat"])
    depth = serializers.IntegerField(source="slot.depth")
    text = serializers.CharField()
    tokens = serializers.IntegerField(help_text="Number of tokens of the text.")
    full_tokens = serializers.IntegerField(help_text="Number of tokens of all entries, including those left out.")
    trimmed = serializers.IntegerField(help_text="Number of entries left out.")
    budget = serializers.IntegerField(
        help_text="Number of tokens that the text may have. A text that a person edited may have more."
    )


class RecalledMemorySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField(help_text="Id of a memory, or of a message if the tier is messages.")
    score = serializers.FloatField()
    signals = serializers.DictField(child=serializers.FloatField())
    tier = serializers.CharField()
    kind = serializers.CharField()
    slot = serializers.CharField()
    text = serializers.CharField()
    why = serializers.CharField(help_text="Why the entry was recalled, in words.")
    message = serializers.UUIDField(allow_null=True, help_text="The message from which the entry comes.")
    triggered = serializers.BooleanField(help_text="Whether the entry was found by a search for the turn's text.")


class LeftOutMemorySerializer(RecalledMemorySerializer):
    budget = serializers.IntegerField(help_text="Number of tokens that its slot had.")


class LoreEntrySerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    keys = serializers.ListField(child=serializers.CharField())
    text = serializers.CharField()
    tokens = serializers.IntegerField()
    place = serializers.ChoiceField(
        choices=[
            *("lore_before", "lore_after", "lore_at_depth", "lore_before_note", "lore_after_note"),
            *("lore_before_examples", "lore_after_examples"),
        ]
    )
    constant = serializers.BooleanField(help_text="Whether the entry is in every prompt.")


class LookupSerializer(serializers.Serializer[Any]):
    tool = serializers.ChoiceField(choices=["search_memory", "read_messages"])
    query = serializers.CharField(required=False, help_text="Of search_memory.")
    first = serializers.IntegerField(required=False, help_text="Of read_messages.")
    count = serializers.IntegerField(required=False, help_text="Of read_messages.")
    found = serializers.IntegerField(help_text="How many texts the model got.")


class NodeSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    weight = serializers.IntegerField()


class EdgeSerializer(serializers.Serializer[Any]):
    source = serializers.UUIDField()  # type: ignore[assignment]
    target = serializers.UUIDField()
    relation = serializers.CharField()
    memories = serializers.ListField(child=serializers.UUIDField())


class GraphSerializer(serializers.Serializer[Any]):
    nodes = NodeSerializer(many=True)
    edges = EdgeSerializer(many=True)

    def to_representation(self, instance: Recall) -> dict[str, Any]:
        """Return the graph of a recall. Requires ``recall_context`` as the serializer's context."""
        entities = self.context["entities"]
        return graph_of({item["id"]: entities[item["id"]] for item in instance.memories if item["id"] in entities})


class RecallSerializer(serializers.Serializer[Any]):
    """The recall of a user message."""

    # Pass ``recall_context`` for all serialized recalls as the serializer's context.

    id = serializers.UUIDField(source="stored_id", allow_null=True)
    message = serializers.UUIDField(source="message_id", allow_null=True)
    index = serializers.IntegerField(source="message.index", allow_null=True)
    text = serializers.CharField()
    edited = serializers.BooleanField()
    outdated = serializers.SerializerMethodField(
        help_text="Whether the text of the turn has changed since. An edited text is used nevertheless."
    )
    source = serializers.ChoiceField(choices=["fresh", "persistent"])  # type: ignore[assignment]
    memories = RecalledMemorySerializer(many=True)
    graph = GraphSerializer(source="*")
    left_out = LeftOutMemorySerializer(many=True, help_text="The first entries that no budget had room for.")
    left_out_count = serializers.IntegerField(help_text="Number of entries that no budget had room for.")
    lore = LoreEntrySerializer(many=True, help_text="The lorebook entries in the last prompt of this turn.")
    lookups = LookupSerializer(many=True, help_text="What the model looked up itself for the last reply, in order.")
    tokens = serializers.IntegerField()
    rev = serializers.IntegerField(help_text="Grows with each text.")
    versions = RecallVersionSerializer(
        many=True, help_text="Earlier texts that a person wrote or replaced, at most ten, the newest first."
    )
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField(allow_null=True, help_text="Null in a preview, which stores nothing.")

    def get_outdated(self, recall: Recall) -> bool:
        return is_outdated(recall)


class PromptSerializer(serializers.Serializer[Any]):
    slots = SlotSerializer(many=True)
    unified = serializers.CharField(allow_null=True)
    macros = JSONObjectField()
    recall = RecallSerializer(allow_null=True)
    messages = serializers.ListField(child=JSONObjectField(), allow_null=True)
    total_tokens = serializers.IntegerField()
    stable_tokens = serializers.IntegerField(
        help_text="The number of leading tokens that are the same as in the last prompt for this character."
    )
    turn_class = serializers.ChoiceField(choices=["dialogue", "action", "transition", "intimate"])


def recall_context(owner: Owner, recalls: Sequence[Recall]) -> dict[str, Any]:
    """Return the context for RecallSerializer: the entities of all recalls, read in one query."""
    return {"entities": entities_by_memory(owner, recalls)}
