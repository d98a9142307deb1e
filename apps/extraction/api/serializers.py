"""Serializers of runs, model tests, embedding jobs and prompt templates."""

from typing import Any

from drf_spectacular.utils import extend_schema_serializer
from rest_framework import serializers

from apps.common.api.serializer_fields import (
    BoundedListField,
    ChoiceField,
    JSONObjectField,
    OwnedField,
    StrictIntegerField,
    StrictSerializer,
    TextField,
)
from apps.common.jobs import PLACE
from apps.extraction.models import UNUSED, ExtractionRun, ModelCall, RunStep
from apps.extraction.settings.schema import tier_names
from apps.llm.models import Connection

MAX_TIERS = 100  # in a request; more than there are, since repeated ones are accepted
OUTCOMES = ("passed", "superseded", "reconfirmed", "rejected", "merged", UNUSED)
USAGE_KEYS = ("calls", "prompt_tokens", "completion_tokens")


class ExtractSerializer(StrictSerializer):
    """Options of a new run: its tiers, the index of the first message, and whether to retry refused messages."""

    refused = serializers.BooleanField(required=False, help_text="Read messages again that the model refused to read.")
    tiers = BoundedListField(child=ChoiceField(tier_names()), required=False, allow_empty=False, max_length=MAX_TIERS)

    def get_fields(self) -> dict[str, Any]:
        # "from" is a keyword of Python and can't be declared as an attribute.
        field = StrictIntegerField(min_value=0, max_value=2**31 - 1, required=False, source="from_index")
        return super().get_fields() | {"from": field}


class RunSerializer(serializers.ModelSerializer[ExtractionRun]):
    """Run of the pipeline. ``backend`` and ``model`` are empty until a worker has claimed it.

    ``waits_for`` says why a queued run waits, until ``wait_until``, or why it is paused: "server", "limit",
    "connection" or "agreement"; ``error`` has the details.
    """

    state = serializers.CharField()
    place = serializers.IntegerField(read_only=True, allow_null=True, help_text=PLACE)
    counts = serializers.SerializerMethodField()
    llm = serializers.SerializerMethodField()
    estimate = serializers.SerializerMethodField()

    class Meta:
        model = ExtractionRun
        fields = (
            *("id", "chat", "state", "stage", "tiers", "backend", "model", "done", "total", "counts", "error"),
            *("started_at", "finished_at", "llm", "waits_for", "wait_until", "estimate", "place"),
        )

    def get_estimate(self, run: ExtractionRun) -> dict[str, Any] | None:
        """Return the calls, tokens and cost that were expected, or None without a connected model."""
        return run.estimate or None

    def get_counts(self, run: ExtractionRun) -> dict[str, int]:
        """Return how many candidates had each outcome, and how many lines of replies could not be used (``unused``)."""
        return dict.fromkeys(OUTCOMES, 0) | run.counts

    def get_llm(self, run: ExtractionRun) -> dict[str, Any]:
        """Return the number of model calls, their tokens, and their cost, which is None unless all had a price."""
        usage = {name: run.llm.get(name, 0) for name in USAGE_KEYS}
        return {**usage, "cost": run.llm.get("cost"), "currency": run.llm.get("currency")}


class EstimateSerializer(serializers.Serializer[Any]):
    """What reading the new messages is expected to take, null without a connected model or new messages.

    If ``asks``, a run is created paused, and begins once it is resumed.
    """

    estimate = serializers.DictField(allow_null=True)
    asks = serializers.BooleanField()


class RunQuery(serializers.Serializer[Any]):
    """Filters of the list of runs."""

    chat = serializers.UUIDField(required=False)


class StartedSerializer(serializers.Serializer[Any]):
    """Run that was started or already under way."""

    run = RunSerializer()


class StepSerializer(serializers.ModelSerializer[RunStep]):
    """Finished stage of a run: the messages that it read, its counts, and the lines of replies that it could not use.

    ``error`` says why the model refused to read the messages.
    """

    counts = JSONObjectField()
    unused_lines = serializers.ListField(child=serializers.CharField())

    class Meta:
        model = RunStep
        fields = ("id", "stage", "character", "first", "last", "counts", "unused_lines", "error", "finished_at")


class CallSerializer(serializers.ModelSerializer[ModelCall]):
    """Model call of a run."""

    seconds = serializers.SerializerMethodField()

    class Meta:
        model = ModelCall
        fields = (
            *("id", "stage", "task", "reply", "reasoning", "error", "prompt_tokens", "completion_tokens", "seconds"),
            "at",
        )

    def get_seconds(self, call: ModelCall) -> float:
        """Return the duration of the call, rounded to milliseconds."""
        return round(call.seconds, 3)


class JobSerializer(serializers.Serializer[Any]):
    """Fields of every background job."""

    id = serializers.UUIDField()
    state = serializers.CharField(help_text="queued, running, succeeded, failed or cancelled.")
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    error = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class ModelTestSerializer(JobSerializer):
    """Model test. ``results`` has the score, 0 to 100, and verdict, and those of each tier with hints and raw reply.

    ``plan`` in it tells how the model reads best: with ``one`` call for all tiers, a ``separate`` call for each,
    answers to plain questions (``small``), or not at all (``builtin``).
    """

    connection = serializers.UUIDField(source="connection_id", allow_null=True)
    backend = serializers.CharField()
    model = serializers.CharField()
    results = JSONObjectField()


class OwnedConnectionField(OwnedField[Connection]):
    """Id of one of the requester's connections; null is the built-in extractor."""

    def get_queryset(self) -> Any:
        return Connection.objects.for_owner(self.context["request"].user)


class ModelTestCreateSerializer(StrictSerializer):
    """Connection to test."""

    connection = OwnedConnectionField()


class EmbeddingJobSerializer(JobSerializer):
    """Embedding job; ``model`` computes the embeddings."""

    place = serializers.IntegerField(allow_null=True, help_text=PLACE)
    model = serializers.CharField()


@extend_schema_serializer(component_name="Reembedding")
class EmbeddingJobStateSerializer(serializers.Serializer[Any]):
    """Embedding model in use, number of texts not yet embedded with it, and the latest embedding job."""

    model = serializers.CharField()
    waiting = serializers.IntegerField()
    job = EmbeddingJobSerializer(allow_null=True)


class PlaceholderSerializer(serializers.Serializer[Any]):
    """Placeholder of a prompt template."""

    name = serializers.CharField()
    required = serializers.BooleanField()  # type: ignore[assignment]
    meaning = serializers.CharField()


class PromptTemplateSerializer(serializers.Serializer[Any]):
    """``text`` is the template in use; ``default`` is the built-in one."""

    task = serializers.CharField()
    description = serializers.CharField()
    text = serializers.CharField()
    default = serializers.CharField()
    is_own = serializers.BooleanField()
    placeholders = PlaceholderSerializer(many=True)


class PromptTemplatesSerializer(serializers.Serializer[Any]):
    """Templates of all tasks, in the order of a run."""

    results = PromptTemplateSerializer(many=True)


class TemplateUpdateSerializer(StrictSerializer):
    """New text of a prompt template."""

    text = TextField()
