"""Serializers of the layers and of entities: responses and request bodies."""

from typing import Any

from rest_framework import serializers

from apps.chats.serializers import OwnedCharacterField
from apps.common.api.serializer_fields import (
    BoundedListField,
    ChoiceField,
    JSONObjectField,
    StrictBooleanField,
    StrictSerializer,
    StrictUUIDField,
    TextField,
)
from apps.memories.api.fields import NonBlankTextField, OwnedRelatedField
from apps.memories.candidates import LEDGER_FIELDS
from apps.memories.models import Arc, Entity, Knowledge, Relationship, VersionedText

# Characters of a text, of one line and of a name.
MAX_TEXT, MAX_LINE, MAX_NAME = 20_000, 1000, 200


class LayerEntrySerializer(serializers.Serializer[Any]):
    """Base of the entries of all layers."""

    id = serializers.UUIDField()
    state = serializers.CharField()
    source = serializers.UUIDField(  # type: ignore[assignment]
        source="source_id", allow_null=True, help_text="The message from which it was extracted."
    )
    until = serializers.UUIDField(source="until_id", allow_null=True, help_text="The message at which it ended.")
    edited_by = serializers.CharField()
    run = serializers.UUIDField(
        source="run_id",
        allow_null=True,
        help_text="The run that derived it. Of a run whose `backend` is `builtin`, what nobody has edited is a guess.",
    )
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class TextVersionSerializer(LayerEntrySerializer):
    """A version of a text. The parts of its document become members of the response."""

    kind = serializers.CharField()
    character = serializers.UUIDField(source="character_id", allow_null=True)
    text = serializers.CharField()
    sections = JSONObjectField(required=False, help_text="For a summary: its nine sections by number.")
    messages = serializers.IntegerField(required=False, help_text="For a summary: how many messages it covers.")
    character_state = serializers.CharField(required=False)
    world_state = serializers.CharField(required=False)
    relationship_matrix = serializers.CharField(required=False)
    issues = serializers.ListField(child=JSONObjectField(), required=False, help_text="For a check: [{text, fact}].")
    message = serializers.UUIDField(required=False, help_text="For a check: the reply that was checked.")

    def to_representation(self, instance: VersionedText) -> dict[str, Any]:
        return super().to_representation(instance) | instance.parts


class TextVersionsSerializer(serializers.Serializer[Any]):
    """The current version of a text, or null, and all versions, newest first."""

    current = TextVersionSerializer(allow_null=True)
    versions = TextVersionSerializer(many=True)


class TextSerializer(StrictSerializer):
    text = NonBlankTextField(max_length=MAX_TEXT)


class CharacterTextSerializer(TextSerializer):
    character = OwnedCharacterField(default=None)


class ProfileUpdateSerializer(StrictSerializer):
    """Sections of a profile; those that are missing are not changed."""

    character = OwnedCharacterField(default=None)
    character_state = TextField(max_length=MAX_TEXT, required=False)
    world_state = TextField(max_length=MAX_TEXT, required=False)
    relationship_matrix = TextField(max_length=MAX_TEXT, required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs.keys() - {"character"}:
            raise serializers.ValidationError("Name at least one section to change.")
        return attrs


class ArcSerializer(LayerEntrySerializer):
    chat = serializers.UUIDField(source="chat_id", allow_null=True)
    text = serializers.CharField()
    summary = serializers.CharField()
    persistent = serializers.BooleanField()


class ArcCreateSerializer(StrictSerializer):
    text = NonBlankTextField(max_length=MAX_LINE)
    persistent = StrictBooleanField(default=False)


class ArcUpdateSerializer(StrictSerializer):
    text = NonBlankTextField(max_length=MAX_LINE, required=False)
    state = ChoiceField([Arc.State.OPEN.value, Arc.State.RESOLVED.value], required=False)
    summary = TextField(max_length=MAX_TEXT, required=False)
    persistent = StrictBooleanField(required=False)


class EntitySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.CharField()
    aliases = serializers.ListField(child=serializers.CharField())
    character = serializers.UUIDField(source="character_id", allow_null=True)
    chat = serializers.UUIDField(source="chat_id", allow_null=True)


class EntityUpdateSerializer(StrictSerializer):
    name = NonBlankTextField(max_length=MAX_NAME, required=False)
    kind = ChoiceField(Entity.Kind.choices, required=False)
    aliases = BoundedListField(child=TextField(max_length=MAX_NAME, allow_blank=False), max_length=50, required=False)


class EntityMergeSerializer(StrictSerializer):
    into = OwnedRelatedField(Entity.objects.for_owner)


class EntitySplitSerializer(StrictSerializer):
    """The name of the new entity, and what it gets of the old one."""

    name = NonBlankTextField(max_length=MAX_NAME)
    kind = ChoiceField(Entity.Kind.choices, required=False)
    aliases = BoundedListField(child=TextField(max_length=MAX_NAME), max_length=50, required=False)
    memories = BoundedListField(child=StrictUUIDField(), min_length=1, max_length=1000)


class LedgerEntrySerializer(LayerEntrySerializer):
    field = serializers.CharField()
    value = serializers.CharField()


class StateSerializer(serializers.Serializer[Any]):
    """The ledger of one entity."""

    entity = EntitySerializer()
    fields = JSONObjectField(source="current_values", help_text="The current values by field.")  # type: ignore[assignment]
    entries = LedgerEntrySerializer(many=True, help_text="Every value that a field had, newest first.")


class LedgerSerializer(serializers.Serializer[Any]):
    results = StateSerializer(many=True)


class LedgerUpdateSerializer(StrictSerializer):
    """A new value of an entity's field; null clears the field."""

    entity = NonBlankTextField(max_length=MAX_NAME)
    type = ChoiceField(sorted(LEDGER_FIELDS))
    field = TextField(max_length=32, allow_blank=False)
    value = TextField(max_length=MAX_LINE, allow_blank=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        known = LEDGER_FIELDS[attrs["type"]]
        if attrs["field"] not in known:
            raise serializers.ValidationError({"field": [f"It must be one of {', '.join(known)}."]})
        return attrs


class KnowledgeSerializer(LayerEntrySerializer):
    kind = serializers.CharField()
    subject = serializers.CharField(source="subject.name")
    target = serializers.CharField(source="target.name", allow_null=True)
    text = serializers.CharField()


class KnowledgeCreateSerializer(StrictSerializer):
    kind = ChoiceField(Knowledge.Kind.choices)
    subject = NonBlankTextField(max_length=MAX_NAME)
    target = TextField(max_length=MAX_NAME, default="")
    text = NonBlankTextField(max_length=MAX_LINE)


class KnowledgeUpdateSerializer(StrictSerializer):
    text = NonBlankTextField(max_length=MAX_LINE)


class DescriptorSerializer(LayerEntrySerializer):
    word = serializers.CharField(source="descriptor")
    magnitude = serializers.CharField()


class PairSerializer(serializers.Serializer[Any]):
    """The descriptors of how one person relates to another."""

    subject = serializers.CharField(source="subject.name")
    target = serializers.CharField(source="target.name")
    descriptors = DescriptorSerializer(many=True)
    history = DescriptorSerializer(many=True)


class RelationshipsSerializer(serializers.Serializer[Any]):
    results = PairSerializer(many=True)


class RelationshipUpdateSerializer(StrictSerializer):
    subject = NonBlankTextField(max_length=MAX_NAME)
    target = NonBlankTextField(max_length=MAX_NAME)
    word = NonBlankTextField(max_length=60)
    magnitude = ChoiceField(Relationship.Magnitude.choices, allow_null=True, help_text="Null removes the descriptor.")
