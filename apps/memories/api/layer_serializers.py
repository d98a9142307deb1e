"""What the API takes and gives of the layers beside memories."""

from typing import Any

from rest_framework import serializers

from apps.chats.serializers import OwnCharacter
from apps.common.serializer_fields import Flag, JSONObject, StrictSerializer, Text
from apps.memories.api.serializers import not_blank
from apps.memories.candidates import LEDGER_FIELDS
from apps.memories.models import Arc, Entity, Knowledge, Relationship

MAX_TEXT = 20_000
MAX_LINE = 1000
MAX_NAME = 200


class RowSerializer(serializers.Serializer[Any]):
    """What entries of every layer tell of themselves."""

    id = serializers.UUIDField()
    state = serializers.CharField()
    source = serializers.UUIDField(  # type: ignore[assignment]
        allow_null=True, help_text="The message that it came from."
    )
    until = serializers.UUIDField(allow_null=True, help_text="The message with which it ended.")
    edited_by = serializers.CharField()
    version = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class DigestSerializer(RowSerializer):
    kind = serializers.CharField()
    character = serializers.UUIDField(allow_null=True)
    text = serializers.CharField()
    sections = JSONObject(required=False, help_text="Of a summary: its nine sections by number.")
    messages = serializers.IntegerField(required=False, help_text="Of a summary: how many messages it holds.")
    character_state = serializers.CharField(required=False)
    world_state = serializers.CharField(required=False)
    relationship_matrix = serializers.CharField(required=False)
    issues = serializers.ListField(child=JSONObject(), required=False, help_text="Of a check: [{text, fact}].")
    message = serializers.UUIDField(required=False, help_text="Of a check: the reply that was checked.")


class DigestsSerializer(serializers.Serializer[Any]):
    current = DigestSerializer(allow_null=True)
    versions = DigestSerializer(many=True)


class TextSerializer(StrictSerializer):
    text = Text(max_length=MAX_TEXT, allow_blank=False, validators=[not_blank])


class CharacterTextSerializer(TextSerializer):
    character = OwnCharacter(default=None)


class ProfileUpdateSerializer(StrictSerializer):
    character = OwnCharacter(default=None)
    character_state = Text(max_length=MAX_TEXT, required=False)
    world_state = Text(max_length=MAX_TEXT, required=False)
    relationship_matrix = Text(max_length=MAX_TEXT, required=False)

    def parts(self) -> dict[str, str]:
        return {name: value for name, value in self.validated_data.items() if name != "character"}

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if not attrs.keys() - {"character"}:
            raise serializers.ValidationError("Name at least one section to change.")
        return attrs


class ArcSerializer(RowSerializer):
    chat = serializers.UUIDField(allow_null=True)
    text = serializers.CharField()
    summary = serializers.CharField()
    persistent = serializers.BooleanField()


class ArcsSerializer(serializers.Serializer[Any]):
    results = ArcSerializer(many=True)


class ArcCreateSerializer(StrictSerializer):
    text = Text(max_length=MAX_LINE, allow_blank=False, validators=[not_blank])
    persistent = Flag(default=False)


class ArcUpdateSerializer(StrictSerializer):
    text = Text(max_length=MAX_LINE, allow_blank=False, validators=[not_blank], required=False)
    state = serializers.ChoiceField([Arc.State.OPEN.value, Arc.State.RESOLVED.value], required=False)
    summary = Text(max_length=MAX_TEXT, required=False)
    persistent = Flag(required=False)


class EntitySerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    name = serializers.CharField()
    kind = serializers.CharField()
    aliases = serializers.ListField(child=serializers.CharField())
    character = serializers.UUIDField(allow_null=True)
    chat = serializers.UUIDField(allow_null=True)


class EntityUpdateSerializer(StrictSerializer):
    name = Text(max_length=MAX_NAME, allow_blank=False, validators=[not_blank], required=False)
    kind = serializers.ChoiceField(Entity.Kind.choices, required=False)
    aliases = serializers.ListField(child=Text(max_length=MAX_NAME, allow_blank=False), max_length=50, required=False)


class OwnEntity(serializers.PrimaryKeyRelatedField[Entity]):
    """The id of one of the requester's entities."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pk_field=serializers.UUIDField(), **kwargs)

    def get_queryset(self) -> Any:
        return Entity.objects.for_owner(self.context["request"].user)


class EntityMergeSerializer(StrictSerializer):
    into = OwnEntity()


class LedgerEntrySerializer(RowSerializer):
    field = serializers.CharField()
    value = serializers.CharField()


class StateSerializer(serializers.Serializer[Any]):
    entity = EntitySerializer()
    fields = JSONObject(help_text="What holds now, by field.")  # type: ignore[assignment]
    entries = LedgerEntrySerializer(many=True, help_text="Every value that a field had, newest first.")


class LedgerSerializer(serializers.Serializer[Any]):
    results = StateSerializer(many=True)


class LedgerUpdateSerializer(StrictSerializer):
    entity = Text(max_length=MAX_NAME, allow_blank=False, validators=[not_blank])
    type = serializers.ChoiceField(sorted(LEDGER_FIELDS))
    field = Text(max_length=32, allow_blank=False)
    value = Text(max_length=MAX_LINE, allow_blank=False, allow_null=True)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        known = LEDGER_FIELDS[attrs["type"]]
        if attrs["field"] not in known:
            raise serializers.ValidationError({"field": [f"It must be one of {', '.join(known)}."]})
        return attrs


class KnowledgeSerializer(RowSerializer):
    kind = serializers.CharField()
    subject = serializers.CharField()
    target = serializers.CharField(allow_null=True)
    text = serializers.CharField()


class KnowledgeListSerializer(serializers.Serializer[Any]):
    results = KnowledgeSerializer(many=True)


class KnowledgeCreateSerializer(StrictSerializer):
    kind = serializers.ChoiceField(Knowledge.Kind.choices)
    subject = Text(max_length=MAX_NAME, allow_blank=False, validators=[not_blank])
    target = Text(max_length=MAX_NAME, default="")
    text = Text(max_length=MAX_LINE, allow_blank=False, validators=[not_blank])


class LineSerializer(StrictSerializer):
    text = Text(max_length=MAX_LINE, allow_blank=False, validators=[not_blank])


class WordSerializer(RowSerializer):
    word = serializers.CharField()
    magnitude = serializers.CharField()


class PairSerializer(serializers.Serializer[Any]):
    subject = serializers.CharField()
    target = serializers.CharField()
    descriptors = WordSerializer(many=True)
    history = WordSerializer(many=True)


class RelationshipsSerializer(serializers.Serializer[Any]):
    results = PairSerializer(many=True)


class RelationshipUpdateSerializer(StrictSerializer):
    subject = Text(max_length=MAX_NAME, allow_blank=False, validators=[not_blank])
    target = Text(max_length=MAX_NAME, allow_blank=False, validators=[not_blank])
    word = Text(max_length=60, allow_blank=False, validators=[not_blank])
    magnitude = serializers.ChoiceField(
        Relationship.Magnitude.choices, allow_null=True, help_text="Null takes the word away."
    )
