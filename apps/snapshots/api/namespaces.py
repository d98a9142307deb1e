"""API of the export of a namespace."""

from django.http import FileResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework.renderers import JSONRenderer
from rest_framework.request import Request
from rest_framework.views import APIView

from apps.exchange.api.chat_files import JSONLinesRenderer
from apps.memories.api.namespaces import NamedNamespaceQuery, named_namespace
from apps.snapshots.namespaces import export_namespace


class NamespaceExportView(APIView):
    keeps_to_namespace = True
    renderer_classes = [JSONRenderer, JSONLinesRenderer]

    @extend_schema(
        parameters=[NamedNamespaceQuery], responses={(200, JSONLinesRenderer.media_type): OpenApiTypes.BINARY}
    )
    def get(self, request: Request) -> FileResponse:
        """Export all rows of a namespace: JSON lines with `table` and `row`, of one moment."""
        return FileResponse(
            export_namespace(request.user, named_namespace(request)),
            as_attachment=True,
            filename="namespace.jsonl",
            content_type=JSONLinesRenderer.media_type,
        )
