"""What the API takes and gives of runs."""

from typing import Any

from rest_framework import serializers

from apps.common.serializer_fields import Integer, JSONObject, StrictSerializer
from apps.extraction.settings.schema import TIERS


class ExtractSerializer(StrictSerializer):
    tiers = serializers.ListField(child=serializers.ChoiceField(TIERS), required=False, allow_empty=False)

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {"from": Integer(min_value=0, max_value=2**31 - 1, required=False)}

    def options(self) -> dict[str, Any]:
        """What ``runs.start_run`` takes."""
        data = self.validated_data
        return {"tiers": data.get("tiers", ()), "from_index": data.get("from")}


class RunSerializer(serializers.Serializer[Any]):
    """A run as it is replied; made by ``wire.run_document``."""

    id = serializers.UUIDField()
    chat = serializers.UUIDField()
    state = serializers.CharField()
    stage = serializers.CharField()
    tiers = serializers.ListField(child=serializers.CharField())
    backend = serializers.CharField(help_text="Empty until a worker has taken it.")
    model = serializers.CharField()
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    counts = JSONObject()
    error = serializers.CharField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)
    llm = JSONObject()


class RunQuery(serializers.Serializer[Any]):
    chat = serializers.UUIDField(required=False)


class StartedSerializer(serializers.Serializer[Any]):
    run = RunSerializer()


class CallSerializer(serializers.Serializer[Any]):
    """One call of a model in a run."""

    id = serializers.UUIDField()
    stage = serializers.CharField()
    task = serializers.CharField()
    reply = serializers.CharField()
    reasoning = serializers.CharField()
    error = serializers.CharField()
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    seconds = serializers.FloatField()
    at = serializers.DateTimeField()
