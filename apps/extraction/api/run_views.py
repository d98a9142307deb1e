"""API of runs: start, list, pause, resume and cancel them, read the replies of the model, and export what was kept."""

from functools import partial
from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.queries import access_chat
from apps.common import jobs
from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import JSONObjectField, read_body
from apps.common.database.replica import from_replica
from apps.extraction.api.serializers import (
    CallSerializer,
    EstimateSerializer,
    ExtractSerializer,
    RunQuery,
    RunSerializer,
    StartedSerializer,
    StepSerializer,
)
from apps.extraction.models import ExtractionRun, ModelCall, RunStep
from apps.extraction.runs.operations import request_run, resume_run, skip_messages
from apps.extraction.runs.queries import asks_first, expected_cost, runs_of
from apps.extraction.settings.stores import settings_document
from apps.memories.api import layers
from apps.memories.api.exports import memory_export


def start_run(request: Request, chat_id: UUID, **options: Any) -> Response:
    """Start a run of a chat and return it with 202, or return the run under way, which does the same, with 200."""
    run, created = request_run(request.user, access_chat(request.user, chat_id), asked=True, **options)
    status_code = status.HTTP_202_ACCEPTED if created else status.HTTP_200_OK
    return Response(StartedSerializer({"run": run}).data, status=status_code)


class ExtractView(APIView):
    @extend_schema(responses=EstimateSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        """Return what reading the new messages of a chat is expected to take."""
        chat = access_chat(request.user, chat_id)
        expected = expected_cost(chat)
        data = {"estimate": expected or None, "asks": asks_first(chat, expected)}
        return Response(EstimateSerializer(data).data)

    @extend_schema(request=ExtractSerializer, responses={202: StartedSerializer, 200: StartedSerializer})
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Start a run over the new messages of a chat. A run that is under way is extended by what it lacks of it."""
        access_chat(request.user, chat_id)  # first, so that another user's chat is 404 even if the body is invalid
        return start_run(request, chat_id, **read_body(ExtractSerializer, request))


@extend_schema_view(list=extend_schema(parameters=[RunQuery]))
class RunViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[ExtractionRun]):
    """Runs of the requester, newest first."""

    serializer_class = RunSerializer
    pagination_class = NewestFirstPagination
    lookup_url_kwarg = "run_id"

    def get_queryset(self) -> Any:
        return runs_of(self.request.user)

    def filter_queryset(self, queryset: Any) -> Any:
        """Filter the list by ``?chat=``."""
        query = RunQuery(data=self.request.query_params if self.action == "list" else {})
        query.is_valid(raise_exception=True)
        return queryset.filter(**query.validated_data)

    @extend_schema(request=None)
    def pause(self, request: Request, run_id: UUID) -> Response:
        """Pause a run. It can be resumed where it stopped."""
        return self._response(jobs.pause(self.get_object()))

    @extend_schema(request=None)
    def resume(self, request: Request, run_id: UUID) -> Response:
        """Resume a paused run, or end the wait of a queued one. A run that asks for agreement begins."""
        return self._response(resume_run(self.get_object(), asked=True))

    @extend_schema(request=None)
    def skip(self, request: Request, run_id: UUID) -> Response:
        """Cancel a run, and never extract from the messages that it would have read."""
        return self._response(skip_messages(self.get_object()))

    @extend_schema(request=None)
    def cancel(self, request: Request, run_id: UUID) -> Response:
        """Cancel a run. The results it has stored stay."""
        return self._response(jobs.cancel(self.get_object()))

    @extend_schema(responses=CallSerializer(many=True))
    def calls(self, request: Request, run_id: UUID) -> Response:
        """List the model calls of a run with their raw replies, newest first."""
        calls: Any = ModelCall.objects.for_owner(request.user).filter(run=self.get_object())
        return self.get_paginated_response(CallSerializer(self.paginate_queryset(calls), many=True).data)

    @extend_schema(responses=StepSerializer(many=True))
    def steps(self, request: Request, run_id: UUID) -> Response:
        """List the finished steps of a run with the lines of replies that could not be used, newest first."""
        steps: Any = RunStep.objects.for_owner(request.user).filter(run=self.get_object())
        return self.get_paginated_response(StepSerializer(self.paginate_queryset(steps), many=True).data)

    def _response(self, run: ExtractionRun) -> Response:
        return Response(self.get_serializer(run).data)


class TierRunView(APIView):
    """Add a POST that starts a run of one tier to the view of the tier's results."""

    tier: str

    @extend_schema(request=None, responses={202: StartedSerializer, 200: StartedSerializer})
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Start a run of this tier alone."""
        return start_run(request, chat_id, tiers=[self.tier])


class ProfilesRunView(TierRunView, layers.ProfilesView):
    tier = "profiles"


class CanonRunView(TierRunView, layers.CanonView):
    tier = "canon"


class ContinuityRunView(TierRunView, layers.ContinuityView):
    tier = "continuity"


def _object_list() -> serializers.ListField:
    return serializers.ListField(child=JSONObjectField())


class MemoryExportSerializer(serializers.Serializer[Any]):
    """Memory export. Each list holds objects in the shape of the API of their layer."""

    schema_version = serializers.IntegerField()
    exported_at = serializers.DateTimeField()
    chat = JSONObjectField()
    character = JSONObjectField(allow_null=True)
    settings = JSONObjectField(help_text="Effective settings, and those of the user, the character and the chat.")
    mode = JSONObjectField()
    entities = _object_list()
    memories = _object_list()
    inherited = _object_list()
    scenes = _object_list()
    arcs = _object_list()
    ledger = _object_list()
    knowledge = _object_list()
    relationships = _object_list()
    digests = _object_list()


class MemoryExportView(APIView):
    @extend_schema(responses=MemoryExportSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        """Return all memories of a chat as a file, including superseded and retired ones."""
        chat = access_chat(request.user, chat_id)
        name = f"memories-{chat.pk}.json"
        return Response(
            from_replica(partial(memory_export, chat, settings_document(chat))),
            headers={"Content-Disposition": f'attachment; filename="{name}"'},
        )
