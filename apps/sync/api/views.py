"""API of appends, patches, undo and the change feed of a chat."""

from collections.abc import Iterable
from functools import partial
from typing import Any, TypeVar, cast
from uuid import UUID

from django.db import transaction
from django.utils.functional import SimpleLazyObject
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.api.guarded import GuardedSerializer
from apps.chats.locking import lock_chat
from apps.chats.models import Chat, Message
from apps.chats.operations import append_messages, patch_messages, undo_change
from apps.chats.queries import access_chat
from apps.chats.queries.changes import HistoryGone, page_of_changes, rev_of
from apps.chats.serializers import change_documents
from apps.common.problems import Invalid
from apps.memories.api.tombstones import MemoryTombstoneSerializer
from apps.memories.queries.tombstones import OVERLAP, tombstones_since
from apps.sync.api.messages import AppendSerializer
from apps.sync.api.serializers import (
    AppendedSerializer,
    ChangesSerializer,
    PatchedSerializer,
    PatchesSerializer,
    UndoneSerializer,
    UndoSerializer,
)

Body = TypeVar("Body", bound=GuardedSerializer)


def message_refs(messages: Iterable[Message]) -> list[dict[str, Any]]:
    """Return index, id and rev of each message as JSON."""
    return [{"index": row.index, "id": str(row.pk), "rev": row.rev} for row in messages]


def chat_state(chat: Chat) -> dict[str, Any]:
    """Return integrity and rev of the chat as JSON."""
    return {"integrity": str(chat.integrity), "rev": chat.rev}


def validated_body(request: Request, chat_id: UUID, serializer_class: type[Body]) -> Body:
    """Return the validated body of a write to a chat.

    Raise Missing if the body is invalid and the chat doesn't exist. For a valid body, the chat isn't read here: the
    write itself raises Missing.
    """
    try:
        body = serializer_class(data=request.data)
        body.is_valid(raise_exception=True)
    except Exception:
        access_chat(request.user, chat_id)
        raise
    return body


def chat_if_needed(request: Request, chat_id: UUID) -> Chat:
    """Return the chat, read at its first use: few bodies need it, and the write reads it again when it locks it."""
    return cast(Chat, SimpleLazyObject(partial(access_chat, request.user, chat_id)))


class AppendView(APIView):
    @extend_schema(request=AppendSerializer, responses={201: AppendedSerializer})
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Add messages at the end of the chat.

        An `Idempotency-Key` makes a retry safe. Without one, a retry is recognised by the `integrity` of the state
        before the first try: nothing is stored then, and `deduplicated` counts its messages.
        """
        body = validated_body(request, chat_id, AppendSerializer)
        messages = body.parsed_messages(chat_if_needed(request, chat_id))
        result = append_messages(request.user, chat_id, messages, body.guard(request))
        document = chat_state(result.chat) | {
            "message_count": result.chat.message_count,
            "appended": message_refs(result.messages),
            "deduplicated": result.deduplicated,
        }
        return Response(document, status=status.HTTP_201_CREATED)


class PatchView(APIView):
    @extend_schema(request=PatchesSerializer, responses=PatchedSerializer)
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Change, insert, move and delete messages: all patches are applied, or none.

        `integrity` is required, except with `force`. One that is behind is a 409 with the `changes` since, unless
        `on_conflict` is `rebase` and nobody changed the messages named. What is in effect already is `skipped`.
        """
        body = validated_body(request, chat_id, PatchesSerializer)
        patches = body.parsed_patches(chat_if_needed(request, chat_id))
        result = patch_messages(request.user, chat_id, patches, body.guard(request))
        document = chat_state(result.chat) | {
            "applied": result.applied,
            "skipped": result.skipped,
            "messages": message_refs(result.messages),
        }
        return Response(document)


class UndoView(APIView):
    @extend_schema(request=UndoSerializer, responses=UndoneSerializer)
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Undo the write to messages, metadata or details that has the given rev, unless what it changed was changed
        since. Without a rev, undo the last write if the same token or session made it; a second undo reverts
        the write before it. No integrity is needed: with one, and without a rev, no other write may have followed.
        """
        body = validated_body(request, chat_id, UndoSerializer)
        result = undo_change(request.user, chat_id, body.guard(request), body.validated_data.get("rev"))
        document = chat_state(result.chat) | {
            "undone": result.change.rev,
            "kind": result.change.kind,
            "messages": message_refs(result.messages),
            "deleted": [str(pk) for pk in result.undo.deleted_ids],
            "metadata": result.undo.metadata,
            "metadata_replaced": result.undo.metadata_replaced,
            "replaced_keys": result.undo.replaced_keys,
        }
        return Response(document)


class ChangesView(APIView):
    @extend_schema(parameters=[OpenApiParameter("since", OpenApiTypes.STR, required=True)], responses=ChangesSerializer)
    @transaction.atomic
    def get(self, request: Request, chat_id: UUID) -> Response:
        """Return the changes after a state, oldest first, about 1 MB at a time. Pages belong together only if they
        have the same integrity. A message stands in the last change of the page that names it, as it is now.
        """
        # The lock keeps state, log and messages consistent with each other.
        chat = lock_chat(request.user, chat_id)
        since = _rev_since(chat, request.query_params.get("since", ""))
        page = page_of_changes(chat, since)
        following = request.build_absolute_uri(f"?since={page.last}") if page.last < chat.rev else None
        written = chat.changes.filter(rev=since).values_list("at", flat=True).first()
        deleted = tombstones_since(request.user, written and written - OVERLAP, chat=chat)
        tombstones = {
            "tombstones": MemoryTombstoneSerializer(deleted.memories, many=True).data,
            "tombstones_until": deleted.until,
            "tombstones_complete": deleted.is_complete,
        }
        changes = {"changes": change_documents(page.changes), "next": following}
        return Response(chat_state(chat) | changes | tombstones)


def _rev_since(chat: Chat, since: str) -> int:
    """Return the rev for ``since``, which is a rev or an integrity. Raise Invalid, HistoryGone."""
    # `isdigit` knows digits of other scripts too. Eighteen fit into a bigint whatever they are.
    if since.isascii() and since.isdigit() and len(since) < 19:
        if int(since) > chat.rev:
            raise Invalid.at("/since", f"The chat is at rev {chat.rev}.")
        return int(since)
    try:
        rev = rev_of(chat, UUID(since))
    except ValueError:
        raise Invalid.at("/since", "It must be a rev or an integrity.") from None
    if rev is None:
        detail = "This integrity is not in the change log. Read the whole chat again."
        raise HistoryGone(detail, current_integrity=str(chat.integrity), current_rev=chat.rev)
    return rev
