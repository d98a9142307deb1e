"""Memories over HTTP."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.common.pagination import NewestFirst
from apps.common.problems import Missing
from apps.memories import operations
from apps.memories.api.serializers import (
    MemoriesSerializer,
    MemoryCreateSerializer,
    MemoryQuery,
    MemorySerializer,
    MemoryUpdateSerializer,
    MergeSerializer,
    SplitSerializer,
)
from apps.memories.models import Memory
from apps.memories.wire import memory_document


def access_memory(owner: Any, memory_id: UUID) -> Memory:
    """The owner's memory, unless it was deleted. Raises Missing."""
    found = Memory.objects.for_owner(owner).present().with_history().filter(pk=memory_id).first()
    if found is None:
        raise Missing("There is no such memory.")
    return found


class MemoryListView(generics.GenericAPIView[Memory]):
    serializer_class = MemorySerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> Any:
        return Memory.objects.for_owner(self.request.user).present().with_history()

    @extend_schema(parameters=[MemoryQuery], responses=MemorySerializer(many=True))
    def get(self, request: Request) -> Response:
        query = MemoryQuery(data=request.query_params)
        query.is_valid(raise_exception=True)
        page = self.paginate_queryset(query.apply(self.get_queryset()))
        return self.get_paginated_response([memory_document(memory) for memory in page or []])

    @extend_schema(request=MemoryCreateSerializer, responses={201: MemorySerializer})
    def post(self, request: Request) -> Response:
        body = MemoryCreateSerializer(data=request.data, context={"request": request})
        body.is_valid(raise_exception=True)
        memory = operations.create_memory(request.user, editor=str(request.user), **body.fields_of_memory())
        return Response(memory_document(memory), status=status.HTTP_201_CREATED)


class MemoryView(APIView):
    @extend_schema(responses=MemorySerializer)
    def get(self, request: Request, memory_id: UUID) -> Response:
        return Response(memory_document(access_memory(request.user, memory_id)))

    @extend_schema(request=MemoryUpdateSerializer, responses=MemorySerializer)
    def patch(self, request: Request, memory_id: UUID) -> Response:
        memory = access_memory(request.user, memory_id)
        body = MemoryUpdateSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        operations.edit_memory(memory, editor=str(request.user), **body.validated_data)
        return Response(memory_document(access_memory(request.user, memory_id)))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, memory_id: UUID) -> Response:
        operations.delete_memory(access_memory(request.user, memory_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class MergeView(APIView):
    @extend_schema(request=MergeSerializer, responses={201: MemorySerializer})
    def post(self, request: Request) -> Response:
        """Put one text in the place of several memories, which stay as replaced."""
        body = MergeSerializer(data=request.data, context={"request": request})
        body.is_valid(raise_exception=True)
        memory = operations.merge_by_hand(editor=str(request.user), **body.validated_data)
        return Response(memory_document(access_memory(request.user, memory.pk)), status=status.HTTP_201_CREATED)


class SplitView(APIView):
    @extend_schema(request=SplitSerializer, responses={201: MemoriesSerializer})
    def post(self, request: Request, memory_id: UUID) -> Response:
        """Put several memories in the place of one, which stays as replaced."""
        memory = access_memory(request.user, memory_id)
        body = SplitSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        parts = operations.split_memory(memory, editor=str(request.user), **body.validated_data)
        results = [memory_document(access_memory(request.user, part.pk)) for part in parts]
        return Response({"results": results}, status=status.HTTP_201_CREATED)
