"""API of the metadata of a chat."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.api.guarded import GuardedSerializer
from apps.chats.operations import patch_metadata
from apps.chats.queries import access_chat
from apps.common.api.json_formats import JSON_PATCH, JSONPatchParser, StrictJSONParser, is_json_patch
from apps.common.api.serializer_fields import JSONObjectField
from apps.common.documents.patches import DocumentPatch
from apps.sync.api.serializers import DocumentOperationsSerializer, WrittenSerializer
from apps.sync.api.views import chat_state


class MetadataMergeSerializer(GuardedSerializer):
    metadata = JSONObjectField(help_text="An RFC 7396 merge patch.")

    def document_patch(self) -> DocumentPatch:
        return DocumentPatch(merge=self.validated_data["metadata"])


class MetadataPatchedSerializer(WrittenSerializer):
    metadata = serializers.DictField()
    applied = serializers.IntegerField()
    skipped = serializers.IntegerField(help_text="1 if the patch changed nothing.")


class MetadataView(APIView):
    parser_classes = [StrictJSONParser, JSONPatchParser]

    @extend_schema(
        request={"application/json": MetadataMergeSerializer, JSON_PATCH: DocumentOperationsSerializer},
        responses=MetadataPatchedSerializer,
    )
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Change the metadata by a merge patch or by the operations of a JSON Patch."""
        chat = access_chat(request.user, chat_id)
        serializer_class = DocumentOperationsSerializer if is_json_patch(request) else MetadataMergeSerializer
        body: Any = serializer_class(data=request.data)
        body.is_valid(raise_exception=True)
        result = patch_metadata(request.user, chat.pk, body.document_patch(), body.guard(request))
        counts = {"applied": int(result.applied), "skipped": int(not result.applied)}
        return Response(chat_state(result.chat) | {"metadata": result.chat.metadata} | counts)
