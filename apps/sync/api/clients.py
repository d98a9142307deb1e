"""API by which clients learn whether they fit this Loci."""

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.sync.sillytavern_extension import extension_version


class ExtensionSerializer(serializers.Serializer[None]):
    version = serializers.CharField(help_text="The version of the extension that this Loci serves.")


class SillyTavernView(APIView):
    @extend_schema(responses=ExtensionSerializer)
    def get(self, request: Request) -> Response:
        """Return which version of SillyTavern's extension this Loci serves."""
        return Response({"version": extension_version()})
