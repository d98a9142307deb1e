"""API views of tests of models."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.common import jobs
from apps.common.pagination import NewestFirst
from apps.common.serializer_fields import JSONObject, StrictSerializer
from apps.extraction.models import ModelTest
from apps.extraction.tasks import request_model_test
from apps.llm.models import Connection
from apps.memories.api.base import get_or_missing


class JobSerializer(serializers.Serializer[Any]):
    """Fields that all jobs of a user have."""

    id = serializers.UUIDField()
    state = serializers.CharField(help_text="queued, running, succeeded, failed or cancelled.")
    done = serializers.IntegerField()
    total = serializers.IntegerField()
    error = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)


class ModelTestSerializer(JobSerializer):
    """Test of a model.

    ``results`` holds a score from 0 to 100, a verdict, and each tier's score, verdict, hints and raw reply.
    """

    connection = serializers.UUIDField(source="connection_id", allow_null=True)
    backend = serializers.CharField()
    model = serializers.CharField()
    results = JSONObject()


class OwnConnection(serializers.PrimaryKeyRelatedField[Connection]):
    """Id of one of the requester's connections; null for the built-in backend."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(pk_field=serializers.UUIDField(), **kwargs)

    def get_queryset(self) -> Any:
        return Connection.objects.for_owner(self.context["request"].user)


class ModelTestCreateSerializer(StrictSerializer):
    connection = OwnConnection(allow_null=True)


class ModelTestListView(generics.GenericAPIView[ModelTest]):
    serializer_class = ModelTestSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> Any:
        return ModelTest.objects.for_owner(self.request.user)

    @extend_schema(responses=ModelTestSerializer(many=True))
    def get(self, request: Request) -> Response:
        """The latest tests, newest first."""
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(ModelTestSerializer(page, many=True).data)

    @extend_schema(request=ModelTestCreateSerializer, responses={202: ModelTestSerializer})
    def post(self, request: Request) -> Response:
        """Ask a model all questions of the test. One test at a time; no memory is read or written."""
        body = ModelTestCreateSerializer(data=request.data, context={"request": request})
        body.is_valid(raise_exception=True)
        test = request_model_test(request.user, body.validated_data["connection"])
        return Response(ModelTestSerializer(test).data, status=status.HTTP_202_ACCEPTED)


class ModelTestView(APIView):
    @extend_schema(responses=ModelTestSerializer)
    def get(self, request: Request, test_id: UUID) -> Response:
        return Response(ModelTestSerializer(get_or_missing(ModelTest.objects.for_owner(request.user), pk=test_id)).data)


class CancelView(APIView):
    @extend_schema(request=None, responses=ModelTestSerializer)
    def post(self, request: Request, test_id: UUID) -> Response:
        """Stop the test within seconds; what it found until then stays."""
        test = get_or_missing(ModelTest.objects.for_owner(request.user), pk=test_id)
        return Response(ModelTestSerializer(jobs.cancel(test)).data)
