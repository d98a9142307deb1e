"""API views of runs."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.queries import access_chat
from apps.common import jobs
from apps.common.pagination import NewestFirst
from apps.common.problems import Missing
from apps.common.scoping import Owner
from apps.extraction.api.run_serializers import (
    CallSerializer,
    ExtractSerializer,
    RunQuery,
    RunSerializer,
    StartedSerializer,
)
from apps.extraction.models import ExtractionRun, ModelCall
from apps.extraction.tasks import request_run, resume_run
from apps.memories.api import layers


def access_run(owner: Owner, run_id: UUID) -> ExtractionRun:
    """Return the owner's run. Raises Missing."""
    found = ExtractionRun.objects.for_owner(owner).filter(pk=run_id).first()
    if found is None:
        raise Missing("There is no such run.")
    return found


class ExtractView(APIView):
    @extend_schema(request=ExtractSerializer, responses={202: StartedSerializer, 200: StartedSerializer})
    def post(self, request: Request, chat_id: UUID) -> Response:
        chat = access_chat(request.user, chat_id)
        body = ExtractSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        run, created = request_run(request.user, chat, **body.options())
        code = status.HTTP_202_ACCEPTED if created else status.HTTP_200_OK
        return Response({"run": RunSerializer(run).data}, status=code)


class RunView(APIView):
    @extend_schema(responses=RunSerializer)
    def get(self, request: Request, run_id: UUID) -> Response:
        return Response(RunSerializer(access_run(request.user, run_id)).data)


class RunListView(generics.GenericAPIView[ExtractionRun]):
    serializer_class = RunSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> Any:
        return ExtractionRun.objects.for_owner(self.request.user)

    @extend_schema(operation_id="runs_list", parameters=[RunQuery])
    def get(self, request: Request) -> Response:
        """Runs, newest first; ``?chat=`` those of one chat."""
        query = RunQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        page = self.paginate_queryset(self.get_queryset().filter(**query.validated_data))
        return self.get_paginated_response(RunSerializer(page, many=True).data)


class RunCallsView(generics.GenericAPIView[ModelCall]):
    serializer_class = CallSerializer
    pagination_class = NewestFirst

    def get(self, request: Request, run_id: UUID) -> Response:
        """What the model replied in a run, as it came, newest first."""
        calls = ModelCall.objects.for_owner(request.user).filter(run=access_run(request.user, run_id))
        page = self.paginate_queryset(calls)
        return self.get_paginated_response(CallSerializer(page, many=True).data)

    def get_queryset(self) -> Any:
        return ModelCall.objects.for_owner(self.request.user)


class PauseRunView(APIView):
    @extend_schema(request=None, responses=RunSerializer)
    def post(self, request: Request, run_id: UUID) -> Response:
        """Stop where it is, to be resumed."""
        return Response(RunSerializer(jobs.pause(access_run(request.user, run_id))).data)


class ResumeRunView(APIView):
    @extend_schema(request=None, responses=RunSerializer)
    def post(self, request: Request, run_id: UUID) -> Response:
        return Response(RunSerializer(resume_run(access_run(request.user, run_id))).data)


class CancelRunView(APIView):
    @extend_schema(request=None, responses=RunSerializer)
    def post(self, request: Request, run_id: UUID) -> Response:
        return Response(RunSerializer(jobs.cancel(access_run(request.user, run_id))).data)


class Renewable(APIView):
    """Add the POST that starts a run of one tier."""

    tier: str

    @extend_schema(request=None, responses={202: StartedSerializer, 200: StartedSerializer})
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Start a run that renews it. A run already under way is returned as it is."""
        run, created = request_run(request.user, access_chat(request.user, chat_id), tiers=[self.tier])
        code = status.HTTP_202_ACCEPTED if created else status.HTTP_200_OK
        return Response({"run": RunSerializer(run).data}, status=code)


class ProfilesView(Renewable, layers.ProfilesView):
    tier = "profiles"


class CanonView(Renewable, layers.CanonView):
    tier = "canon"


class ContinuityView(Renewable, layers.ContinuityView):
    tier = "continuity"
