"""API through which an open page takes calls of its owner's model and posts the replies."""

from typing import cast
from uuid import UUID

from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.common.api.json_formats import CompactJSONRenderer, EventStreamRenderer
from apps.common.api.serializer_fields import read_body, read_query
from apps.llm.api.browser_call_serializers import (
    BrowserCallSerializer,
    BrowserPageSerializer,
    BrowserProgressSerializer,
    BrowserReplySerializer,
)
from apps.llm.browser import calls
from apps.llm.browser.streams import events_now, stream


class EventsView(APIView):
    renderer_classes = [CompactJSONRenderer, EventStreamRenderer]

    @extend_schema(
        parameters=[OpenApiParameter("page", OpenApiTypes.UUID, required=True, description="The page's id.")],
        responses={(200, "text/event-stream"): OpenApiTypes.STR},
    )
    def get(self, request: Request) -> StreamingHttpResponse:
        """Tell an open page of the calls that it can claim.

        While the stream is open, calls of the model in the browser are queued; without any, they fail at once. `event:
        call` means that a call waits, `event: beat` comes every 5 seconds: answer it by posting the progress of the
        call that runs. Neither has data. The stream ends after some minutes: open it again.
        """
        page: UUID = read_query(BrowserPageSerializer, request)["page"]
        owner_id = cast(UUID, request.user.pk)
        is_async = isinstance(request._request, ASGIRequest)
        return StreamingHttpResponse(
            stream(owner_id, page) if is_async else events_now(owner_id),
            content_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )


class ClaimView(APIView):
    @extend_schema(request=BrowserPageSerializer, responses={200: BrowserCallSerializer, 204: None})
    def post(self, request: Request) -> Response:
        """Claim the next call for a page: 204 if there is none. Another page may claim it after 30 seconds without
        progress. A page that holds a call gets the same one again.
        """
        call = calls.claim_call(request.user, read_body(BrowserPageSerializer, request)["page"])
        if call is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return Response(BrowserCallSerializer(call).data)


class ProgressView(APIView):
    @extend_schema(request=BrowserProgressSerializer, responses={204: None})
    def post(self, request: Request, call_id: UUID) -> Response:
        """Keep a call, and store the reply so far. 409 or 404: stop, the call is no longer the page's."""
        calls.access_call(request.user, call_id)
        body = read_body(BrowserProgressSerializer, request)
        calls.record_progress(request.user, call_id, body["page"], body.get("text"))
        return Response(status=status.HTTP_204_NO_CONTENT)


class ReplyView(APIView):
    @extend_schema(request=BrowserReplySerializer, responses={204: None})
    def post(self, request: Request, call_id: UUID) -> Response:
        """End a call with its reply or an error. The same page may repeat it."""
        calls.access_call(request.user, call_id)
        body = read_body(BrowserReplySerializer, request)
        page, refused = body.pop("page"), body.pop("refused")
        if "error" in body:
            calls.fail_call(request.user, call_id, page, error=body["error"], refused=refused)
        else:
            calls.answer_call(request.user, call_id, page, **body)
        return Response(status=status.HTTP_204_NO_CONTENT)
