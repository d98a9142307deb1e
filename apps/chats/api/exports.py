"""API of exports."""

from uuid import UUID

from django.http import StreamingHttpResponse
from django.utils.http import content_disposition_header
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.chats.queries import access_chat
from apps.chats.transfer.exports import FORMATS, export_filename
from apps.common.api.json_formats import CompactJSONRenderer
from apps.common.problems import Invalid


class JSONLinesRenderer(CompactJSONRenderer):
    """Accept requests for this media type. It renders only problems: the export itself is streamed."""

    media_type = "application/jsonl"
    format = "jsonl"


class ChatExportView(APIView):
    renderer_classes = [CompactJSONRenderer, JSONLinesRenderer]

    @extend_schema(
        parameters=[
            OpenApiParameter("format", OpenApiTypes.STR, enum=list(FORMATS), default="jsonl"),
            OpenApiParameter("hidden", OpenApiTypes.BOOL, description="Text and Markdown: include hidden messages."),
        ],
        responses={
            (200, media_type): OpenApiTypes.OBJECT if name == "json" else OpenApiTypes.BINARY
            for name, (_, media_type, _) in FORMATS.items()
        },
    )
    def get(self, request: Request, chat_id: UUID) -> StreamingHttpResponse:
        """Export the chat as a file. `jsonl` is lossless; `text` and `markdown` are for reading."""
        chat = access_chat(request.user, chat_id)
        name = request.query_params.get("format", "jsonl")
        if name not in FORMATS:
            raise Invalid.at("/format", f"The formats are {', '.join(FORMATS)}.")
        export, media_type, extension = FORMATS[name]
        hidden = _reads_hidden(request) and name in ("text", "markdown")
        chunks = export(chat, include_hidden=True) if hidden else export(chat)
        disposition = content_disposition_header(as_attachment=True, filename=export_filename(chat, extension))
        return StreamingHttpResponse(
            chunks,
            content_type=media_type,
            headers={"Content-Disposition": disposition},
        )


def _reads_hidden(request: Request) -> bool:
    """Return whether hidden messages are asked for. Raise Invalid."""
    hidden = request.query_params.get("hidden", "")
    if hidden not in ("", "true", "false"):
        raise Invalid.at("/hidden", "It must be true or false.")
    return hidden == "true"
