"""API of images that are uploaded to a chat."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats import operations
from apps.chats.api.uploads import (
    FileSerializer,
    PictureParser,
    PictureRenderer,
    picture_response,
    read_picture,
    refuse_broken_pictures,
)
from apps.chats.images.encoding import MAX_UPLOAD_BYTES
from apps.chats.images.pictures import WEBP
from apps.chats.queries import access_chat, access_chat_image


class UploadedImageSerializer(serializers.Serializer[Any]):
    key = serializers.UUIDField()
    width = serializers.IntegerField()
    height = serializers.IntegerField()
    address = serializers.CharField(source="*", help_text="Shows the image in a text: `![words](address)`.")


class ChatImageListView(APIView):
    parser_classes = [PictureParser, MultiPartParser]

    @extend_schema(
        request={"image/*": OpenApiTypes.BINARY, "multipart/form-data": FileSerializer},
        responses={201: UploadedImageSerializer},
    )
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Store an image for the messages of a chat: PNG, JPEG, WebP or GIF, as the body or as the field `file`."""
        access_chat(request.user, chat_id)
        with refuse_broken_pictures():
            address = operations.add_image(request.user, chat_id, read_picture(request, MAX_UPLOAD_BYTES))
        return Response(UploadedImageSerializer(address).data, status=status.HTTP_201_CREATED)


class ChatImageView(APIView):
    renderer_classes = [PictureRenderer]

    @extend_schema(responses={(200, WEBP): OpenApiTypes.BINARY})
    def get(self, request: Request, image_key: UUID) -> HttpResponse:
        """Return an image of a message. It never changes, and may be cached."""
        image = access_chat_image(request.user, image_key)
        return picture_response(request, bytes(image.content), WEBP, image.key, is_immutable=True)
