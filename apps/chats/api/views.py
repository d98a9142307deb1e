"""API of chats and of windows of messages."""

from typing import Any
from uuid import UUID

from django.db import transaction
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import generics, serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats import operations
from apps.chats.api.guarded import ChatUpdateSerializer
from apps.chats.models import MAX_FOLDER_LENGTH, MAX_TAG_LENGTH, Chat
from apps.chats.queries import MAX_WINDOW, access_chat, default_persona, message_window
from apps.chats.serializers import (
    ORGANIZATION_FIELDS,
    ChatCreateSerializer,
    ChatSerializer,
    WindowSerializer,
    chat_document,
    message_document,
)
from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.parameters import takes_query
from apps.common.api.serializer_fields import read_body, read_query
from apps.common.scoping import MAX_NAMESPACE_LENGTH, OWN_NAMESPACE


class ByUse(NewestFirstPagination):
    """Paginate chats by what was done last, newest first."""

    ordering = ("-last_used", "-id")


class ChatQuery(serializers.Serializer[Any]):
    q = serializers.CharField(required=False, allow_blank=True, max_length=500)
    character = serializers.UUIDField(required=False)
    tag = serializers.CharField(required=False, max_length=MAX_TAG_LENGTH)
    folder = serializers.CharField(required=False, max_length=MAX_FOLDER_LENGTH)
    pinned = serializers.BooleanField(allow_null=True, default=None, help_text="By default both.")
    archived = serializers.BooleanField(allow_null=True, default=None, help_text="By default both.")
    namespace = serializers.CharField(
        required=False,
        allow_blank=True,
        max_length=MAX_NAMESPACE_LENGTH,
        trim_whitespace=False,
        help_text="Of an end user of your application. Without it, your own, or that of the character.",
    )
    deleted = serializers.BooleanField(default=False, help_text="The chats in the bin instead of the others.")


class ChatDeletionQuery(serializers.Serializer[Any]):
    purge = serializers.BooleanField(
        default=False, help_text="Delete the chat for good, also from the bin, instead of putting it into the bin."
    )
    keep_memories = serializers.BooleanField(
        allow_null=True,
        default=None,
        help_text="Keep what its character learnt in it. By default as chosen before, else false.",
    )


class ChatListView(generics.ListAPIView[Chat]):
    serializer_class = ChatSerializer
    pagination_class = ByUse

    def get_queryset(self) -> Any:
        query = read_query(ChatQuery, self.request)
        chats = (Chat.in_bin if query["deleted"] else Chat.objects).for_owner(self.request.user)
        if query.get("character"):
            chats = chats.filter(character=query["character"])
        if "namespace" in query or not query.get("character"):
            chats = chats.in_namespace(query.get("namespace", OWN_NAMESPACE))
        if query.get("tag"):
            chats = chats.filter(tags__contains=[query["tag"]])
        if query.get("folder"):
            chats = chats.filter(folder=query["folder"])
        chats = chats.filter(**{name: query[name] for name in ("pinned", "archived") if query[name] is not None})
        words = query.get("q")
        return chats.matching(words) if words else chats

    @extend_schema(parameters=[ChatQuery])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the chats, those with the newest activity first."""
        return super().get(request, *args, **kwargs)

    @extend_schema(request=ChatCreateSerializer, responses={201: ChatSerializer})
    def post(self, request: Request) -> Response:
        """Create a chat."""
        body = read_body(ChatCreateSerializer, request)
        is_own = not (body.get("namespace") or (body["character"] and body["character"].namespace))
        if is_own and not body["user_name"]:
            body.setdefault("persona", default_persona(request.user))
        if body.pop("greeting") and body["character"]:
            chat = operations.start_conversation(request.user, **body)
        else:
            chat = operations.create_chat(request.user, **body)
        return Response(chat_document(chat), status=status.HTTP_201_CREATED)


class ChatView(APIView):
    @extend_schema(responses=ChatSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        """Return a chat."""
        return Response(chat_document(access_chat(request.user, chat_id)))

    @extend_schema(request=ChatUpdateSerializer, responses=ChatSerializer)
    def patch(self, request: Request, chat_id: UUID) -> Response:
        """Change the chat itself. Without an `integrity`, the last write wins.

        Pins, the archive, folders, tags and the connection leave the chat's integrity as it is.
        """
        chat = access_chat(request.user, chat_id)
        body = ChatUpdateSerializer(data=request.data, context={"request": request})
        body.is_valid(raise_exception=True)
        fields = body.changes()
        organization = {name: fields.pop(name) for name in ORGANIZATION_FIELDS if name in fields}
        guard = body.guard(request, optional=True)
        with transaction.atomic():
            if organization:  # first: the change of a field gives the chat another integrity
                chat = operations.organize_chat(chat, guard=guard, **organization)
            if fields:
                chat = operations.update_chat(chat, guard=guard, **fields)
        return Response(chat_document(chat))

    @takes_query(ChatDeletionQuery)
    @extend_schema(responses={204: None})
    def delete(self, request: Request, chat_id: UUID) -> Response:
        """Put the chat into the bin for 30 days, with the memories that come from it alone.

        One that is in the bin already stays there as it is.
        """
        query = read_query(ChatDeletionQuery, request)
        if query["purge"]:
            operations.purge_chat(request.user, chat_id, keep_memories=query["keep_memories"])
        elif not Chat.in_bin.for_owner(request.user).filter(pk=chat_id).exists():
            chat = access_chat(request.user, chat_id)
            operations.delete_chat(chat, keep_memories=bool(query["keep_memories"]))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ChatRestoreView(APIView):
    @extend_schema(request=None, responses=ChatSerializer)
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Take the chat out of the bin, with what was remembered in it."""
        return Response(chat_document(operations.restore_chat(request.user, chat_id)))


class WindowQuery(serializers.Serializer[Any]):
    limit = serializers.IntegerField(default=50, min_value=1, max_value=MAX_WINDOW)

    def get_fields(self) -> dict[str, Any]:
        largest = 2**31 - 1 - MAX_WINDOW
        start = serializers.IntegerField(default=0, min_value=-largest, max_value=largest)
        return super().get_fields() | {"from": start}


class MessageWindowView(APIView):
    @extend_schema(
        parameters=[
            OpenApiParameter("from", OpenApiTypes.INT, description="Negative counts from the end."),
            OpenApiParameter("limit", OpenApiTypes.INT, description=f"Up to {MAX_WINDOW}."),
        ],
        responses=WindowSerializer,
    )
    def get(self, request: Request, chat_id: UUID) -> Response:
        """Return a window of messages. A negative `from` counts from the end."""
        query = read_query(WindowQuery, request)
        window = message_window(request.user, chat_id, query["from"], query["limit"])
        return Response(
            {
                "integrity": str(window.chat.integrity),
                "rev": window.chat.rev,
                "total": window.chat.message_count,
                "from": window.start,
                "results": [message_document(message) for message in window.messages],
            }
        )
