"""Chats sent as files over HTTP."""

from collections.abc import AsyncIterator, Iterator
from functools import partial
from uuid import UUID

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.chats.exports import export_filename, export_jsonl
from apps.chats.queries import access_chat
from apps.common.problems import Invalid
from apps.common.strict_json import CompactJSONRenderer


class JSONLinesRenderer(CompactJSONRenderer):
    """Lets a client accept just what the export is. The file is streamed past it; it writes the problems."""

    media_type = "application/jsonl"
    format = "jsonl"


class ChatExportView(APIView):
    renderer_classes = [CompactJSONRenderer, JSONLinesRenderer]

    @extend_schema(
        parameters=[OpenApiParameter("format", OpenApiTypes.STR, enum=["jsonl"], default="jsonl")],
        responses={(200, "application/jsonl"): OpenApiTypes.BINARY},
    )
    def get(self, request: Request, chat_id: UUID) -> StreamingHttpResponse:
        chat = access_chat(request.user, chat_id)
        if request.query_params.get("format", "jsonl") != "jsonl":
            raise Invalid.at("/format", "The only format is jsonl.")
        chunks = export_jsonl(chat)
        served_by_asgi = isinstance(request._request, ASGIRequest)
        disposition = content_disposition_header(as_attachment=True, filename=export_filename(chat))
        return StreamingHttpResponse(
            _in_threads(chunks) if served_by_asgi else chunks,
            content_type="application/jsonl",
            headers={"Content-Disposition": disposition},
        )


async def _in_threads(chunks: Iterator[bytes]) -> AsyncIterator[bytes]:
    """The same chunks for an event loop; handed a plain iterator, Django would gather all of it first."""
    following = sync_to_async(partial(next, chunks, None))
    while (chunk := await following()) is not None:
        yield chunk
