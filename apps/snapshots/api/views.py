"""Views of snapshots and restores."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db.models import QuerySet
from django.http import HttpResponseBase
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.api.uploads import FileSerializer, check_content_length
from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import read_body, read_query
from apps.common.problems import Missing
from apps.snapshots.api.serializers import (
    RestoreSerializer,
    SnapshotFilterSerializer,
    SnapshotRequestSerializer,
    SnapshotSerializer,
)
from apps.snapshots.downloads import download
from apps.snapshots.models import Snapshot
from apps.snapshots.operations import access_snapshot, delete_snapshot, receive_snapshot, take_chat_snapshot
from apps.snapshots.tasks import request_restore, request_snapshot


class SnapshotListView(generics.ListAPIView[Snapshot]):
    open_to_suspended = True
    serializer_class = SnapshotSerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Snapshot]:
        return Snapshot.objects.for_owner(self.request.user)

    def filter_queryset(self, queryset: Any) -> Any:
        chat = read_query(SnapshotFilterSerializer, self.request).get("chat")
        return queryset.filter(chat_id=chat) if chat else queryset

    @extend_schema(parameters=[SnapshotFilterSerializer])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the snapshots, also those made before forced writes and before restores."""
        return super().get(request, *args, **kwargs)

    @extend_schema(request=SnapshotRequestSerializer, responses={201: SnapshotSerializer, 202: SnapshotSerializer})
    def post(self, request: Request) -> Response:
        """Make a snapshot of a chat or of the account, as it is now.

        That of a chat is complete in the response (201). That of the account is written in the background (202), and
        `taken_at` is the moment that it holds; if one is under way, it is returned.
        """
        if chat := read_body(SnapshotRequestSerializer, request)["chat"]:
            snapshot = take_chat_snapshot(request.user, chat)
            return Response(SnapshotSerializer(snapshot).data, status=status.HTTP_201_CREATED)
        return Response(SnapshotSerializer(request_snapshot(request.user)).data, status=status.HTTP_202_ACCEPTED)


class SnapshotUploadView(APIView):
    parser_classes = [MultiPartParser]

    @extend_schema(request={"multipart/form-data": FileSerializer}, responses={201: SnapshotSerializer})
    def post(self, request: Request) -> Response:
        """Store a snapshot that was downloaded from this installation, to restore it."""
        check_content_length(request, settings.SNAPSHOT_MAX_BYTES)
        snapshot = receive_snapshot(request.user, read_body(FileSerializer, request)["file"])
        return Response(SnapshotSerializer(snapshot).data, status=status.HTTP_201_CREATED)


class SnapshotView(APIView):
    @extend_schema(responses=SnapshotSerializer)
    def get(self, request: Request, snapshot_id: UUID) -> Response:
        """Return a snapshot."""
        return Response(SnapshotSerializer(access_snapshot(request.user, snapshot_id)).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, snapshot_id: UUID) -> Response:
        """Delete a snapshot. One that is being made is cancelled."""
        delete_snapshot(access_snapshot(request.user, snapshot_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class SnapshotDownloadView(APIView):
    @extend_schema(responses={(200, "application/zip"): OpenApiTypes.BINARY})
    def get(self, request: Request, snapshot_id: UUID) -> HttpResponseBase:
        """Download the archive of a snapshot that is complete."""
        return download(access_snapshot(request.user, snapshot_id))


class RestoreView(APIView):
    @extend_schema(responses=RestoreSerializer)
    def get(self, request: Request, snapshot_id: UUID) -> Response:
        """Return the latest restore of the snapshot."""
        restore = access_snapshot(request.user, snapshot_id).restores.order_by("-pk").first()
        if restore is None:
            raise Missing("This snapshot was not restored.")
        return Response(RestoreSerializer(restore).data)

    @extend_schema(request=None, responses={202: RestoreSerializer})
    def post(self, request: Request, snapshot_id: UUID) -> Response:
        """Put a snapshot in the place of what it is of, after a snapshot of that. All of it is done, or nothing."""
        restore = request_restore(access_snapshot(request.user, snapshot_id))
        return Response(RestoreSerializer(restore).data, status=status.HTTP_202_ACCEPTED)
