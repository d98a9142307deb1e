"""Append, patch and the change feed over HTTP."""

from collections.abc import Iterable
from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.integrity import Guard
from apps.chats.models import Chat, Message
from apps.chats.operations import lock_chat
from apps.chats.queries import HistoryGone, access_chat, changes_since, rev_of
from apps.chats.wire import change_documents
from apps.common.problems import Invalid
from apps.sync import operations
from apps.sync.api.serializers import (
    AppendedSerializer,
    AppendSerializer,
    ChangesSerializer,
    GuardedSerializer,
    PatchedSerializer,
    PatchesSerializer,
    UndoneSerializer,
)


def places(messages: Iterable[Message]) -> list[dict[str, Any]]:
    return [{"index": row.index, "id": str(row.pk), "rev": row.rev} for row in messages]


def state(chat: Chat) -> dict[str, Any]:
    return {"integrity": str(chat.integrity), "rev": chat.rev}


class AppendView(APIView):
    @extend_schema(request=AppendSerializer, responses={201: AppendedSerializer})
    def post(self, request: Request, chat_id: UUID) -> Response:
        chat = access_chat(request.user, chat_id)
        body = AppendSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        return self.append(request, chat, body)

    def append(self, request: Request, chat: Chat, body: AppendSerializer) -> Response:
        done = operations.append(request.user, chat.pk, body.parsed(chat), body.guard(request))
        document = state(done.chat) | {
            "message_count": done.chat.message_count,
            "appended": places(done.messages),
            "deduplicated": done.deduplicated,
        }
        return Response(document, status=status.HTTP_201_CREATED)


class PatchView(APIView):
    @extend_schema(request=PatchesSerializer, responses=PatchedSerializer)
    def post(self, request: Request, chat_id: UUID) -> Response:
        chat = access_chat(request.user, chat_id)
        body = PatchesSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        return self.patch_messages(request, chat, body)

    def patch_messages(self, request: Request, chat: Chat, body: PatchesSerializer) -> Response:
        done = operations.patch(request.user, chat.pk, body.parsed(chat), body.guard(request))
        document = state(done.chat) | {
            "applied": done.applied,
            "skipped": done.skipped,
            "messages": places(done.messages),
        }
        return Response(document)


class UndoView(APIView):
    @extend_schema(request=GuardedSerializer, responses=UndoneSerializer)
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Take back the last write to the messages or the metadata; again, the one before it."""
        chat = access_chat(request.user, chat_id)
        body = GuardedSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        return self.undo(request, chat, body.guard(request))

    def undo(self, request: Request, chat: Chat, guard: Guard) -> Response:
        done = operations.undo(request.user, chat.pk, guard)
        document = state(done.chat) | {
            "undone": done.change.rev,
            "kind": done.change.kind,
            "messages": places(done.messages),
            "deleted": [str(pk) for pk in done.undo.deleted_ids],
            "metadata": done.undo.metadata,
            "metadata_replaced": done.undo.metadata_replaced,
        }
        return Response(document)


class ChangesView(APIView):
    @extend_schema(parameters=[OpenApiParameter("since", OpenApiTypes.STR, required=True)], responses=ChangesSerializer)
    @transaction.atomic
    def get(self, request: Request, chat_id: UUID) -> Response:
        # Locked, so that the state, the log and the messages are of one moment.
        chat = lock_chat(request.user, chat_id)
        changes = changes_since(chat, _rev_since(chat, request.query_params.get("since", "")))
        return Response(state(chat) | {"changes": change_documents(changes)})


def _rev_since(chat: Chat, since: str) -> int:
    """The rev that ``since``, a rev or an integrity, names. Raises Invalid, HistoryGone."""
    if since.isascii() and since.isdigit() and len(since) < 19:
        if int(since) > chat.rev:
            raise Invalid.at("/since", f"The chat is at rev {chat.rev}.")
        return int(since)
    try:
        rev = rev_of(chat, UUID(since))
    except ValueError:
        raise Invalid.at("/since", "It must be a rev or an integrity.") from None
    if rev is None:
        raise HistoryGone("The log does not know this integrity. Read the chat anew.", **_current(chat))
    return rev


def _current(chat: Chat) -> dict[str, Any]:
    return {"current_integrity": str(chat.integrity), "current_rev": chat.rev}
