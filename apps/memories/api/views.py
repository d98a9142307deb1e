"""Memories and runs over HTTP."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.queries import access_chat
from apps.common.pagination import NewestFirst
from apps.common.problems import Missing
from apps.memories import operations, runs
from apps.memories.api.serializers import (
    ExtractSerializer,
    MemoryCreateSerializer,
    MemoryQuery,
    MemorySerializer,
    MemoryUpdateSerializer,
    RunSerializer,
    StartedSerializer,
)
from apps.memories.models import ExtractionRun, Memory
from apps.memories.tasks import request_run
from apps.memories.wire import memory_document, run_document


def access_memory(owner: Any, memory_id: UUID) -> Memory:
    """The owner's memory, unless it was deleted. Raises Missing."""
    found = Memory.objects.for_owner(owner).present().with_history().filter(pk=memory_id).first()
    if found is None:
        raise Missing("There is no such memory.")
    return found


def access_run(owner: Any, run_id: UUID) -> ExtractionRun:
    """The owner's run. Raises Missing."""
    found = ExtractionRun.objects.for_owner(owner).filter(pk=run_id).first()
    if found is None:
        raise Missing("There is no such run.")
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


class ExtractView(APIView):
    @extend_schema(request=ExtractSerializer, responses={202: StartedSerializer, 200: StartedSerializer})
    def post(self, request: Request, chat_id: UUID) -> Response:
        chat = access_chat(request.user, chat_id)
        body = ExtractSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        run, made = request_run(request.user, chat, **body.options())
        code = status.HTTP_202_ACCEPTED if made else status.HTTP_200_OK
        return Response({"run": run_document(run)}, status=code)


class RunView(APIView):
    @extend_schema(responses=RunSerializer)
    def get(self, request: Request, run_id: UUID) -> Response:
        return Response(run_document(access_run(request.user, run_id)))


class CancelRunView(APIView):
    @extend_schema(request=None, responses=RunSerializer)
    def post(self, request: Request, run_id: UUID) -> Response:
        return Response(run_document(runs.cancel_run(access_run(request.user, run_id))))
