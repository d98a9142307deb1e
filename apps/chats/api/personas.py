"""API of personas and of avatars."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.urls import reverse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, serializers, status
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
from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.models import Character, Persona
from apps.chats.queries import access_avatar, access_persona, list_personas
from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import StrictBooleanField, TextField
from apps.common.problems import Missing


class AvatarField(serializers.CharField):
    """The address of the avatar of a character or a persona, or null. It changes with the picture."""

    def __init__(self, **kwargs: Any) -> None:
        super().__init__(read_only=True, allow_null=True, source="*", **kwargs)

    def to_representation(self, value: Character | Persona) -> str | None:  # type: ignore[override]
        avatar = getattr(value, "avatar", None)
        return reverse("api-avatar", args=[avatar.pk]) if avatar else None


class PersonaSerializer(serializers.ModelSerializer[Persona]):
    name = TextField(max_length=MAX_NAME_LENGTH, allow_blank=False)
    description = TextField(required=False)
    is_default = StrictBooleanField(required=False, help_text="Chosen in new chats. At most one persona is.")
    avatar = AvatarField()

    class Meta:
        model = Persona
        fields = ("id", "name", "description", "is_default", "avatar", "created_at", "updated_at")


@extend_schema_view(
    get=extend_schema(description="List the personas, newest first."),
    post=extend_schema(description="Create a persona. The first one is the default."),
)
class PersonaListView(generics.ListCreateAPIView[Persona]):
    serializer_class = PersonaSerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> Any:
        return list_personas(self.request.user)

    def perform_create(self, serializer: Any) -> None:
        """Create a persona. The first one is the default."""
        serializer.instance = operations.create_persona(self.request.user, **serializer.validated_data)


@extend_schema_view(
    get=extend_schema(description="Return a persona."),
    patch=extend_schema(description="Change a persona."),
)
class PersonaView(generics.RetrieveUpdateDestroyAPIView[Persona]):
    serializer_class = PersonaSerializer
    lookup_url_kwarg = "persona_id"
    http_method_names = ["get", "patch", "delete", "head", "options"]

    def get_queryset(self) -> Any:
        return list_personas(self.request.user)

    def perform_update(self, serializer: Any) -> None:
        serializer.instance = operations.update_persona(serializer.instance, **serializer.validated_data)

    def delete(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """Delete the persona. To delete it again changes nothing."""
        if Persona.deleted.for_owner(self.request.user).filter(pk=self.kwargs["persona_id"]).exists():
            return Response(status=status.HTTP_204_NO_CONTENT)
        return super().delete(request, *args, **kwargs)

    def perform_destroy(self, instance: Persona) -> None:
        operations.delete_persona(instance)


class PersonaRestoreView(APIView):
    @extend_schema(request=None, responses=PersonaSerializer)
    def post(self, request: Request, persona_id: UUID) -> Response:
        """Take back the deletion of a persona, up to 30 days later."""
        return Response(PersonaSerializer(operations.restore_persona(request.user, persona_id)).data)


class PersonaAvatarView(APIView):
    parser_classes = [PictureParser, MultiPartParser]
    renderer_classes = [PictureRenderer]

    @extend_schema(responses={(200, WEBP): OpenApiTypes.BINARY})
    def get(self, request: Request, persona_id: UUID) -> HttpResponse:
        """Return the avatar: a square WebP."""
        persona = access_persona(request.user, persona_id)
        avatar = getattr(persona, "avatar", None)
        if avatar is None:
            raise Missing("This persona has no avatar.")
        return picture_response(request, bytes(avatar.content), WEBP, avatar.pk)

    @extend_schema(
        request={"image/*": OpenApiTypes.BINARY, "multipart/form-data": FileSerializer}, responses={204: None}
    )
    def put(self, request: Request, persona_id: UUID) -> Response:
        """Replace the avatar by a picture: PNG, JPEG, WebP or GIF, as the body or as the field `file` of a form."""
        persona = access_persona(request.user, persona_id)
        with refuse_broken_pictures():
            operations.set_persona_avatar(persona, read_picture(request, MAX_UPLOAD_BYTES))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, persona_id: UUID) -> Response:
        """Delete the avatar."""
        operations.delete_persona_avatar(access_persona(request.user, persona_id))
        return Response(status=status.HTTP_204_NO_CONTENT)


class AvatarView(APIView):
    renderer_classes = [PictureRenderer]

    @extend_schema(responses={(200, WEBP): OpenApiTypes.BINARY})
    def get(self, request: Request, avatar_id: UUID) -> HttpResponse:
        """Return an avatar of a character or a persona. It never changes, and may be cached."""
        avatar = access_avatar(request.user, avatar_id)
        return picture_response(request, bytes(avatar.content), WEBP, avatar.pk, is_immutable=True)
