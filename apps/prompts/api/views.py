"""API of prompts and recalls."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.queries import access_chat, access_message
from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import read_body
from apps.prompts import operations
from apps.prompts.api.serializers import (
    PromptRequestSerializer,
    PromptSerializer,
    RecallSerializer,
    RecallUpdateSerializer,
    recall_context,
)
from apps.prompts.assembly.prompt import assemble
from apps.prompts.assembly.requests import PromptRequest
from apps.prompts.models import Recall
from apps.prompts.queries import access_recall, chat_recalls
from apps.prompts.turns import text_hash
from apps.prompts.witnessing import require_member


class PromptView(APIView):
    @extend_schema(request=PromptRequestSerializer, responses=PromptSerializer)
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Return what is remembered for the next turn, in slots, and with `history` the messages for a model.

        What was recalled is stored with the turn; for a `text` that isn't sent yet, once its message is appended.
        """
        chat = access_chat(request.user, chat_id)
        values = read_body(PromptRequestSerializer, request)
        require_member(chat, values["character"])
        prompt = assemble(
            PromptRequest(
                chat=chat,
                text=values["text"],
                character=values["character"],
                context_tokens=values["context_tokens"],
                has_history=values["history"],
            )
        )
        recalls = [prompt.recall] if prompt.recall else []
        return Response(PromptSerializer(prompt, context=recall_context(request.user, recalls)).data)


@extend_schema_view(get=extend_schema(description="List the recalls of the chat, newest first."))
class RecallListView(generics.ListAPIView[Recall]):
    serializer_class = RecallSerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> Any:
        return chat_recalls(self.request.user, self.kwargs.get("chat_id"))

    def list(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        access_chat(request.user, self.kwargs["chat_id"])
        page = self.paginate_queryset(self.get_queryset()) or []
        serializer = RecallSerializer(page, many=True, context=recall_context(request.user, page))
        return self.get_paginated_response(serializer.data)


class RecallView(APIView):
    @extend_schema(responses=RecallSerializer)
    def get(self, request: Request, chat_id: UUID, message_id: UUID) -> Response:
        """Return what was recalled for the message."""
        return _respond(request, access_recall(request.user, chat_id, message_id))

    @extend_schema(request=RecallUpdateSerializer, responses=RecallSerializer)
    def patch(self, request: Request, chat_id: UUID, message_id: UUID) -> Response:
        """Replace the text that is recalled for the turn. It is used until the recall is run again."""
        recall = access_recall(request.user, chat_id, message_id)
        body = read_body(RecallUpdateSerializer, request)
        turn_hash = text_hash(access_message(request.user, chat_id, message_id).mes)
        return _respond(request, operations.edit_recall(recall, turn_hash=turn_hash, **body))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, chat_id: UUID, message_id: UUID) -> Response:
        """Delete the recall. Nothing is recalled for the turn until the recall is run again."""
        operations.delete_recall(access_recall(request.user, chat_id, message_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class RecallRerunView(APIView):
    @extend_schema(request=None, responses=RecallSerializer)
    def post(self, request: Request, chat_id: UUID, message_id: UUID) -> Response:
        """Run the recall of the turn again. It replaces what was recalled, edited or deleted."""
        return _respond(request, operations.rerun_recall(request.user, chat_id, message_id))


def _respond(request: Request, recall: Recall) -> Response:
    return Response(RecallSerializer(recall, context=recall_context(request.user, [recall])).data)
