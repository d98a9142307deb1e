"""API of characters and their pictures."""

from typing import Any
from uuid import UUID

from django.http import HttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats import operations
from apps.chats.api.personas import AvatarField
from apps.chats.api.uploads import (
    FileSerializer,
    PictureParser,
    PictureRenderer,
    picture_response,
    read_picture,
    refuse_broken_pictures,
)
from apps.chats.images.pictures import MAX_PICTURE_BYTES, media_type_of
from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.models import Character, CharacterImage
from apps.chats.queries import access_character, image_of
from apps.common.api.json_formats import CompactJSONRenderer
from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import BoundedListField, JSONObjectField, TextField, read_query
from apps.common.problems import Invalid, Missing
from apps.common.scoping import MAX_NAMESPACE_LENGTH, OWN_NAMESPACE

# The most items in each list of a character.
MAX_LIST_ITEMS = 1000


class CharacterSerializer(serializers.ModelSerializer[Character]):
    namespace = TextField(
        required=False,
        max_length=MAX_NAMESPACE_LENGTH,
        help_text="The end user of your application whose it is, for good. Default: your own.",
    )
    name = TextField(max_length=MAX_NAME_LENGTH, allow_blank=False)
    description = TextField(required=False)
    personality = TextField(required=False)
    scenario = TextField(required=False)
    first_mes = TextField(required=False)
    mes_example = TextField(required=False)
    system_prompt = TextField(required=False)
    post_history_instructions = TextField(required=False)
    creator_notes = TextField(required=False)
    alternate_greetings = BoundedListField(child=TextField(), required=False, max_length=MAX_LIST_ITEMS)
    group_only_greetings = BoundedListField(child=TextField(), required=False, max_length=MAX_LIST_ITEMS)
    tags = BoundedListField(child=TextField(), required=False, max_length=MAX_LIST_ITEMS)
    creator = TextField(required=False)
    character_version = TextField(required=False)
    nickname = TextField(required=False)
    creator_notes_multilingual = JSONObjectField(required=False)
    source = BoundedListField(  # type: ignore[assignment]
        child=TextField(), required=False, max_length=MAX_LIST_ITEMS, help_text="The sources of the card."
    )
    extensions = JSONObjectField(required=False)
    avatar = AvatarField()

    class Meta:
        model = Character
        fields = (
            *("id", "namespace", "name", "description", "personality", "scenario", "first_mes", "mes_example"),
            *("system_prompt", "post_history_instructions", "creator_notes", "alternate_greetings"),
            *("group_only_greetings", "tags", "creator", "character_version", "nickname"),
            *("creator_notes_multilingual", "source", "extensions", "avatar", "created_at", "updated_at"),
        )


class CharacterQuery(serializers.Serializer[Any]):
    namespace = serializers.CharField(
        default=OWN_NAMESPACE,
        allow_blank=True,
        max_length=MAX_NAMESPACE_LENGTH,
        trim_whitespace=False,
        help_text="Of an end user of your application. Without it, your own.",
    )


@extend_schema_view(post=extend_schema(description="Create a character."))
class CharacterListView(generics.ListCreateAPIView[Character]):
    serializer_class = CharacterSerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> Any:
        query = read_query(CharacterQuery, self.request)
        characters = Character.objects.for_owner(self.request.user).in_namespace(query["namespace"])
        return characters.select_related("avatar").defer("avatar__content")

    @extend_schema(parameters=[CharacterQuery])
    def get(self, request: Request, *args: Any, **kwargs: Any) -> Response:
        """List the characters, newest first."""
        return super().get(request, *args, **kwargs)

    def perform_create(self, serializer: Any) -> None:
        serializer.instance = operations.create_character(self.request.user, **serializer.validated_data)


@extend_schema_view(
    get=extend_schema(description="Return a character."),
    patch=extend_schema(description="Change a character."),
    delete=extend_schema(description="Delete a character."),
)
class CharacterView(generics.RetrieveUpdateDestroyAPIView[Character]):
    serializer_class = CharacterSerializer
    http_method_names = ["get", "patch", "delete", "head", "options"]

    def get_queryset(self) -> Any:
        return Character.objects.for_owner(self.request.user)

    def perform_update(self, serializer: Any) -> None:
        character = serializer.instance
        if serializer.validated_data.pop("namespace", character.namespace) != character.namespace:
            raise Invalid.at("/namespace", "A character stays in its namespace.")
        operations.update_character(character, **serializer.validated_data)

    def perform_destroy(self, instance: Character) -> None:
        operations.delete_character(instance)


class CharacterImageView(APIView):
    parser_classes = [PictureParser, MultiPartParser]
    renderer_classes = [CompactJSONRenderer, PictureRenderer]

    @extend_schema(
        responses={(200, media_type): OpenApiTypes.BINARY for media_type in ("image/png", "image/jpeg", "image/webp")}
    )
    def get(self, request: Request, pk: UUID) -> HttpResponse:
        """Return the stored picture."""
        image = _access_image(access_character(request.user, pk))
        return picture_response(request, bytes(image.content), image.media_type, image.pk)

    @extend_schema(
        request={"image/*": OpenApiTypes.BINARY, "multipart/form-data": FileSerializer}, responses={204: None}
    )
    def put(self, request: Request, pk: UUID) -> Response:
        """Replace the picture. It is PNG, JPEG or WebP, as the body or as the field `file` of a form."""
        character = access_character(request.user, pk)
        content = read_picture(request, MAX_PICTURE_BYTES)
        with refuse_broken_pictures():
            operations.set_character_image(character, content, media_type_of(content))
        return Response(status=status.HTTP_204_NO_CONTENT)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, pk: UUID) -> Response:
        """Delete the picture."""
        character = access_character(request.user, pk)
        _access_image(character)
        operations.delete_character_image(character)
        return Response(status=status.HTTP_204_NO_CONTENT)


def _access_image(character: Character) -> CharacterImage:
    image = image_of(character)
    if image is None:
        raise Missing("This character has no picture.")
    return image
