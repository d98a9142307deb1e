"""Prompts and recalls over HTTP."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.queries import access_chat, access_message
from apps.common.pagination import NewestFirst
from apps.injection import operations
from apps.injection.api.serializers import (
    PromptRequestSerializer,
    PromptSerializer,
    RecallSerializer,
    RecallUpdateSerializer,
)
from apps.injection.assembly import assemble
from apps.injection.models import Recall
from apps.injection.queries import access_recall, recalls_of
from apps.injection.recalling import rerun_recall
from apps.injection.turns import hash_of
from apps.injection.wire import prompt_document, recall_documents


class PromptView(APIView):
    @extend_schema(request=PromptRequestSerializer, responses=PromptSerializer)
    def post(self, request: Request, chat_id: UUID) -> Response:
        chat = access_chat(request.user, chat_id)
        body = PromptRequestSerializer(data=request.data, context={"request": request})
        body.is_valid(raise_exception=True)
        given = body.validated_data
        prompt = assemble(
            chat,
            text=given["text"],
            character=given["character"],
            context_tokens=given["context_tokens"],
            with_history=given["history"],
        )
        return Response(prompt_document(request.user, prompt))


class RecallListView(generics.ListAPIView[Recall]):
    serializer_class = RecallSerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> Any:
        return recalls_of(self.request.user, self.kwargs.get("chat_id"))

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        access_chat(request.user, self.kwargs["chat_id"])
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response(recall_documents(request.user, page or []))


class RecallView(APIView):
    @extend_schema(responses=RecallSerializer)
    def get(self, request: Request, chat_id: UUID, message_id: UUID) -> Response:
        return _respond(request, access_recall(request.user, chat_id, message_id))

    @extend_schema(request=RecallUpdateSerializer, responses=RecallSerializer)
    def patch(self, request: Request, chat_id: UUID, message_id: UUID) -> Response:
        row = access_recall(request.user, chat_id, message_id)
        body = RecallUpdateSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        turn_hash = hash_of(access_message(request.user, chat_id, message_id).mes)
        text = body.validated_data["text"]
        return _respond(request, operations.edit_recall(row, text, turn_hash=turn_hash))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, chat_id: UUID, message_id: UUID) -> Response:
        operations.delete_recall(access_recall(request.user, chat_id, message_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class RecallRerunView(APIView):
    @extend_schema(request=None, responses=RecallSerializer)
    def post(self, request: Request, chat_id: UUID, message_id: UUID) -> Response:
        return _respond(request, rerun_recall(request.user, chat_id, message_id))


def _respond(request: Request, row: Recall) -> Response:
    return Response(recall_documents(request.user, [row])[0])
