"""API of server-sent events about writes to chats and settings."""

from functools import partial
from types import SimpleNamespace
from typing import Any, cast
from uuid import UUID

from django.contrib.auth import get_user
from django.core.handlers.asgi import ASGIRequest
from django.db import connections
from django.http import StreamingHttpResponse
from django.utils import timezone
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.accounts.models import ApiToken
from apps.chats.queries import access_chat
from apps.common.api.json_formats import CompactJSONRenderer, EventStreamRenderer
from apps.common.database.connections import in_database
from apps.common.problems import Missing
from apps.sync.open_streams import register_stream, renew_stream, unregister_stream
from apps.sync.streams import RESYNC, EventQueue, EventStream

# A WSGI server can't hold streams open. This response makes the client read the changes and reconnect in 15 seconds.
POLLING_RESPONSE = (b"retry: 15000\n\n", RESYNC)


class EventsView(APIView):
    renderer_classes = [CompactJSONRenderer, EventStreamRenderer]

    @extend_schema(
        parameters=[OpenApiParameter("chat", OpenApiTypes.UUID, description="Only events of this chat.")],
        responses={(200, "text/event-stream"): OpenApiTypes.STR},
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Stream an event for each write, without its content, and for each run that starts, pauses or ends.

        Clients must fetch the changes after opening a stream, and again after each event.
        `event: chat` has `{"chat", "rev", "integrity", "kind"}`, `event: settings` has `{"rev", "integrity"}`,
        `event: run` has `{"chat", "run", "state"}`, `event: reply` has `{"chat", "generation", "state"}`.
        `event: chats`, which has no content, means that chats were pinned, archived, tagged, deleted or restored,
        `event: memories` that memories were deleted or restored. `event: memory` has `{"event", "chat"}`: memories of a
        chat, or of none, were added (`memory.added`) or changed. `event: recall` has `{"event", "chat", "message"}`.
        `event: resync` means that events may have been lost. A comment is sent every 15 seconds.
        """
        chat_id = _chat_id(request)
        return StreamingHttpResponse(
            _open_stream(request, chat_id) if isinstance(request._request, ASGIRequest) else POLLING_RESPONSE,
            content_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )


def _chat_id(request: Request) -> str | None:
    """Return the id in ``?chat=``, or None without it. Raise Missing if the user has no such chat."""
    value = request.query_params.get("chat")
    if value is None:
        return None
    try:
        return str(access_chat(request.user, UUID(value)).pk)
    except ValueError:
        raise Missing("There is no such chat.") from None


def _open_stream(request: Request, chat_id: str | None) -> EventStream:
    """Return a new stream of events. Raise TooManyStreams."""
    owner_id = cast(UUID, request.user.pk)
    stream_id = register_stream(owner_id)
    is_allowed = partial(in_database, _is_allowed, request, stream_id)
    stream = EventStream(owner_id, EventQueue(chat_id), is_allowed, partial(unregister_stream, owner_id, stream_id))
    # A stream may stay open for hours and must not hold a database connection.
    connections.close_all()
    return stream


def _is_allowed(request: Request, stream_id: UUID) -> bool:
    """Return whether the request's token or session is still valid, the account is not closed, and the stream counts.

    Renew the stream's lease.
    """
    if not renew_stream(cast(UUID, request.user.pk), stream_id):
        return False
    if isinstance(request.auth, ApiToken):
        tokens = ApiToken.objects.for_owner(request.user).usable(timezone.now())
        open_accounts = {"owner__is_active": True, "owner__deletion_due_at": None}
        return tokens.filter(pk=request.auth.pk, **open_accounts).exists()
    # Loaded again: the session of the request is as it was when the stream was opened, hours ago.
    session = type(request.session)(request.session.session_key)
    user: Any = get_user(SimpleNamespace(session=session))  # type: ignore[arg-type]
    return user.is_authenticated and user.deletion_due_at is None
