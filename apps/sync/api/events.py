"""Word of what others write, as server-sent events."""

from functools import partial
from types import SimpleNamespace
from typing import cast
from uuid import UUID

from asgiref.sync import sync_to_async
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
from apps.common.problems import Missing
from apps.common.strict_json import CompactJSONRenderer
from apps.sync.streams import RESYNC, Events, Stream

# A server that can't hold streams open sends the client to look for itself, now and then.
ONE_LOOK = (b"retry: 15000\n\n", RESYNC)


class EventStreamRenderer(CompactJSONRenderer):
    """Lets a client accept just events. They are streamed past it; it writes the problems."""

    media_type = "text/event-stream"
    format = "events"


class EventsView(APIView):
    renderer_classes = [CompactJSONRenderer, EventStreamRenderer]

    @extend_schema(
        parameters=[OpenApiParameter("chat", OpenApiTypes.UUID, description="Of this chat only.")],
        responses={(200, "text/event-stream"): OpenApiTypes.STR},
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Tells that something was written, not what: read the changes then, and whenever a stream is opened.

        `event: chat` with `{"chat", "rev", "integrity", "kind"}`; `event: settings` with `{"rev", "integrity"}`;
        `event: resync` where word may have been missed. A comment comes every 15 seconds.
        """
        chat_id = _chat_of(request)
        return StreamingHttpResponse(
            _events(request, chat_id) if isinstance(request._request, ASGIRequest) else ONE_LOOK,
            content_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )


def _chat_of(request: Request) -> str | None:
    """The id of the chat in ``?chat=``. Raises Missing."""
    given = request.query_params.get("chat")
    if given is None:
        return None
    try:
        return str(access_chat(request.user, UUID(given)).pk)
    except ValueError:
        raise Missing("There is no such chat.") from None


def _events(request: Request, chat_id: str | None) -> Events:
    """Raises TooManyStreams."""
    events = Events(cast(UUID, request.user.pk), Stream(chat_id), partial(sync_to_async(_still_allowed), request))
    # For as long as the stream is open it needs no connection to the database.
    connections.close_all()
    return events


def _still_allowed(request: Request) -> bool:
    """Whether the one who opened the stream could open it now: the token may be revoked, the session ended."""
    try:
        if isinstance(request.auth, ApiToken):
            tokens = ApiToken.objects.for_owner(request.user).usable(timezone.now())
            return tokens.filter(pk=request.auth.pk, owner__is_active=True).exists()
        session = type(request.session)(request.session.session_key)
        return get_user(SimpleNamespace(session=session)).is_authenticated  # type: ignore[arg-type]
    finally:
        connections.close_all()
