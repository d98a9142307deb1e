"""API views of connections and usage."""

from uuid import UUID

from django.db import transaction
from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.common.api.pagination import NewestFirstPagination
from apps.llm import operations
from apps.llm.api.serializers import (
    ConnectionCheckSerializer,
    ConnectionCreateSerializer,
    ConnectionSerializer,
    ConnectionUpdateSerializer,
    UsageSerializer,
)
from apps.llm.backends.connection_check import check_connection
from apps.llm.models import Connection
from apps.llm.queries import access_connection
from apps.llm.usage.limits import usage_document


class ConnectionListView(generics.GenericAPIView[Connection]):
    """List the connections, newest first, or create one."""

    serializer_class = ConnectionSerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Connection]:
        return Connection.objects.for_owner(self.request.user)

    @extend_schema(responses=ConnectionSerializer(many=True))
    def get(self, request: Request) -> Response:
        """List the connections, newest first."""
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(ConnectionSerializer(page, many=True).data)

    @extend_schema(request=ConnectionCreateSerializer, responses={201: ConnectionSerializer})
    def post(self, request: Request) -> Response:
        """Create a connection."""
        body = ConnectionCreateSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        with transaction.atomic():
            connection = operations.create_connection(request.user, **body.fields_of_connection())
            operations.use_for(connection, **body.purposes(True))
        return Response(ConnectionSerializer(connection).data, status=status.HTTP_201_CREATED)


class ConnectionView(APIView):
    """Read, change or delete a connection."""

    @extend_schema(responses=ConnectionSerializer)
    def get(self, request: Request, connection_id: UUID) -> Response:
        """Return a connection, without its key."""
        return Response(ConnectionSerializer(access_connection(request.user, connection_id)).data)

    @extend_schema(request=ConnectionUpdateSerializer, responses=ConnectionSerializer)
    def patch(self, request: Request, connection_id: UUID) -> Response:
        """Change a connection."""
        connection = access_connection(request.user, connection_id)
        body = ConnectionUpdateSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        with transaction.atomic():
            operations.use_for(connection, **body.purposes(False))
            operations.update_connection(connection, **body.fields_of_connection())
            operations.use_for(connection, **body.purposes(True))
        return Response(ConnectionSerializer(access_connection(request.user, connection_id)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, connection_id: UUID) -> Response:
        """Delete a connection."""
        operations.delete_connection(access_connection(request.user, connection_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ConnectionTestView(APIView):
    """Test a connection: request its models, a reply and a vector. The call counts as usage."""

    # A transaction around the call of the server would last as long as that takes. A retry tests again.
    ignores_idempotency_key = True

    @extend_schema(request=None, responses=ConnectionCheckSerializer)
    def post(self, request: Request, connection_id: UUID) -> Response:
        check = check_connection(access_connection(request.user, connection_id))
        return Response(ConnectionCheckSerializer(check).data)


class UsageView(APIView):
    """Return token usage: today, the daily limit, and the last 14 days by model."""

    @extend_schema(responses=UsageSerializer)
    def get(self, request: Request) -> Response:
        return Response(usage_document(request.user))
