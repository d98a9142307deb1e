"""API of a user's settings."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.api.guarded import GuardedSerializer
from apps.common.api.json_formats import JSON_PATCH, JSONPatchParser, StrictJSONParser, is_json_patch
from apps.common.api.serializer_fields import JSONObjectField
from apps.common.documents.patches import DocumentPatch
from apps.sync.api.serializers import DocumentOperationsSerializer, WrittenSerializer
from apps.sync.settings_documents import SettingsState, patch_settings, read_settings


class SettingsMergeSerializer(GuardedSerializer):
    settings = JSONObjectField(help_text="An RFC 7396 merge patch.")

    def document_patch(self) -> DocumentPatch:
        return DocumentPatch(merge=self.validated_data["settings"])


class SettingsSerializer(WrittenSerializer):
    settings = serializers.DictField()
    revs = serializers.DictField(child=serializers.IntegerField(), help_text="The rev of the last change of each key.")


class SettingsView(APIView):
    parser_classes = [StrictJSONParser, JSONPatchParser]

    @extend_schema(responses=SettingsSerializer)
    def get(self, request: Request) -> Response:
        """Return the settings with their integrity."""
        return _respond(read_settings(request.user))

    @extend_schema(
        request={"application/json": SettingsMergeSerializer, JSON_PATCH: DocumentOperationsSerializer},
        responses=SettingsSerializer,
    )
    def patch(self, request: Request) -> Response:
        """Change settings by a merge patch or by the operations of a JSON Patch. Other keys are kept."""
        serializer_class = DocumentOperationsSerializer if is_json_patch(request) else SettingsMergeSerializer
        body: Any = serializer_class(data=request.data)
        body.is_valid(raise_exception=True)
        return _respond(patch_settings(request.user, body.document_patch(), body.guard(request)))


def _respond(current: SettingsState) -> Response:
    revs = {key: current.revs[key] for key in current.values}
    return Response({"integrity": str(current.integrity), "rev": current.rev, "settings": current.values, "revs": revs})
