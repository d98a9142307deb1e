"""API of model tests: start, list, read and cancel them."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apps.common import jobs
from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import read_body
from apps.extraction.api.serializers import ModelTestCreateSerializer, ModelTestSerializer
from apps.extraction.models import ModelTest
from apps.extraction.tasks import request_model_test


class ModelTestViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[ModelTest]):
    """Model tests of the requester, newest first."""

    serializer_class = ModelTestSerializer
    pagination_class = NewestFirstPagination
    lookup_url_kwarg = "test_id"

    def get_queryset(self) -> Any:
        return ModelTest.objects.for_owner(self.request.user)

    @extend_schema(request=ModelTestCreateSerializer, responses={202: ModelTestSerializer})
    def create(self, request: Request) -> Response:
        """Start a test of a model. Only one runs at a time; no memory is read or written."""
        test = request_model_test(request.user, read_body(ModelTestCreateSerializer, request)["connection"])
        return Response(self.get_serializer(test).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=None)
    def cancel(self, request: Request, test_id: UUID) -> Response:
        """Cancel a test. It stops within seconds; its results so far stay."""
        return Response(self.get_serializer(jobs.cancel(self.get_object())).data)
