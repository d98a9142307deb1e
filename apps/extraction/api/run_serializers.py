"""Serializers of runs and model calls."""

from typing import Any

from rest_framework import serializers

from apps.common.serializer_fields import Integer, JSONObject, StrictSerializer
from apps.extraction.models import ExtractionRun
from apps.extraction.settings.schema import TIERS

OUTCOMES = ("passed", "superseded", "reconfirmed", "rejected", "merged")
USAGE = ("calls", "prompt_tokens", "completion_tokens")


class ExtractSerializer(StrictSerializer):
    tiers = serializers.ListField(child=serializers.ChoiceField(TIERS), required=False, allow_empty=False)

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {"from": Integer(min_value=0, max_value=2**31 - 1, required=False)}

    def options(self) -> dict[str, Any]:
        """Return the keyword arguments of ``runs.start_run``."""
        data = self.validated_data
        return {"tiers": data.get("tiers", ()), "from_index": data.get("from")}


class RunSerializer(serializers.Serializer[Any]):
    """Extraction run."""

    id = serializers.UUIDField()
    chat = serializers.UUIDField(source="chat_id")
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

    def to_representation(self, instance: ExtractionRun) -> dict[str, Any]:
        document = super().to_representation(instance)
        # Every reply has all outcomes and usage counters, including those that are not counted yet.
        document["counts"] = dict.fromkeys(OUTCOMES, 0) | instance.counts
        document["llm"] = {name: instance.llm.get(name, 0) for name in USAGE}
        return document


class RunQuery(serializers.Serializer[Any]):
    chat = serializers.UUIDField(required=False)


class StartedSerializer(serializers.Serializer[Any]):
    run = RunSerializer()


class Seconds(serializers.FloatField):
    """Number of seconds, to the millisecond."""

    def to_representation(self, value: float) -> Any:
        return round(value, 3)


class CallSerializer(serializers.Serializer[Any]):
    """Call of a model in a run."""

    id = serializers.UUIDField()
    stage = serializers.CharField()
    task = serializers.CharField()
    reply = serializers.CharField()
    reasoning = serializers.CharField()
    error = serializers.CharField()
    prompt_tokens = serializers.IntegerField()
    completion_tokens = serializers.IntegerField()
    seconds = Seconds()
    at = serializers.DateTimeField()
