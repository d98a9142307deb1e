"""Views of instances and identity files."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import read_body, read_query
from apps.common.problems import Missing
from apps.instances.api.serializers import (
    ConflictSerializer,
    ContentSerializer,
    FileNameSerializer,
    IdentityFileSerializer,
    InstanceCreateSerializer,
    InstanceSerializer,
    InstanceUpdateSerializer,
    SettleSerializer,
)
from apps.instances.models import Conflict, Instance, Item, ItemVersion
from apps.instances.operations.conflicts import apply_choice
from apps.instances.operations.identity import delete_file, write_file
from apps.instances.operations.registration import register, remove, update
from apps.instances.queries import present_instances
from apps.memories.api.base import get_or_missing


@extend_schema_view(
    list=extend_schema(description="List the instances, newest first."),
    destroy=extend_schema(description="Remove an instance."),
)
class InstanceViewSet(mixins.ListModelMixin, mixins.DestroyModelMixin, viewsets.GenericViewSet[Instance]):
    """The requester's instances, newest first."""

    serializer_class = InstanceSerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Instance]:
        return present_instances(self.request.user)

    def get_object(self) -> Instance:
        return get_or_missing(self.get_queryset(), name_id=self.kwargs["instance_id"])

    @extend_schema(request=InstanceCreateSerializer, responses={201: InstanceSerializer})
    def create(self, request: Request) -> Response:
        """Register an instance. One that was removed goes on with its counter."""
        body = read_body(InstanceCreateSerializer, request)
        instance = register(request.user, body.pop("id"), **body)
        return Response(InstanceSerializer(instance).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=InstanceUpdateSerializer, responses=InstanceSerializer)
    def partial_update(self, request: Request, instance_id: str) -> Response:
        """Change an instance."""
        instance = update(self.get_object(), read_body(InstanceUpdateSerializer, request))
        return Response(InstanceSerializer(instance).data)

    def perform_destroy(self, instance: Instance) -> None:
        remove(instance)


class FileListView(mixins.ListModelMixin, viewsets.GenericViewSet[Item]):
    """The requester's identity files, newest first."""

    serializer_class = IdentityFileSerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Item]:
        return Item.objects.for_owner(self.request.user).identity().present()


class VersionSerializer(serializers.Serializer[Any]):
    version = serializers.IntegerField(required=False, min_value=1, max_value=2**31 - 1)


class FileView(APIView):
    """An identity file. Loci keeps what a file had before each change."""

    @extend_schema(
        parameters=[OpenApiParameter("version", OpenApiTypes.INT)],
        responses=IdentityFileSerializer,
    )
    def get(self, request: Request, category: str, filename: str) -> Response:
        """Return the file, or a past version of it, also of a deleted one."""
        number = read_query(VersionSerializer, request).get("version")
        file = get_or_missing(Item.objects.for_owner(request.user).identity(), category=category, filename=filename)
        if number not in (None, file.version) or (file.deleted_at and number):
            file = _past(file, number)
        elif file.deleted_at:
            raise Missing("This file was deleted.")
        return Response(IdentityFileSerializer(file).data)

    @extend_schema(request=ContentSerializer, responses={200: IdentityFileSerializer, 201: IdentityFileSerializer})
    def put(self, request: Request, category: str, filename: str) -> Response:
        """Write an identity file. What it had before is kept as a version."""
        FileNameSerializer(data={"category": category, "filename": filename}).is_valid(raise_exception=True)
        existing = Item.objects.for_owner(request.user).identity().present()
        is_new = not existing.filter(category=category, filename=filename).exists()
        file = write_file(request.user, category, filename, read_body(ContentSerializer, request)["content"])
        return Response(IdentityFileSerializer(file).data, status=201 if is_new else 200)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, category: str, filename: str) -> Response:
        """Delete an identity file. Its versions are kept."""
        files = Item.objects.for_owner(request.user).identity().present()
        delete_file(request.user, get_or_missing(files, category=category, filename=filename))
        return Response(status=status.HTTP_204_NO_CONTENT)


def _past(file: Item, number: int | None) -> Item:
    """Return an unsaved item with the content of a past version. Raise Missing."""
    versions = ItemVersion.objects.for_owner(file.owner_id).filter(item=file)
    past = get_or_missing(versions, number=number)
    return Item(
        category=file.category,
        filename=file.filename,
        text=past.text,
        clock=past.clock,
        instance=past.instance,
        changed_at=past.changed_at,
        version=past.number,
    )


class ConflictViewSet(mixins.ListModelMixin, viewsets.GenericViewSet[Conflict]):
    """The requester's conflicts, newest first, settled ones included."""

    serializer_class = ConflictSerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Conflict]:
        return Conflict.objects.for_owner(self.request.user).select_related("item")

    @extend_schema(request=SettleSerializer, responses=ConflictSerializer)
    def settle(self, request: Request, conflict_id: UUID) -> Response:
        """Settle a conflict. Instances get the result with their next pull."""
        conflict = get_or_missing(self.get_queryset(), pk=conflict_id)
        body = SettleSerializer(data=request.data, context={"tier": conflict.item.tier})
        body.is_valid(raise_exception=True)
        choose = body.validated_data["choose"]
        conflict = apply_choice(
            request.user, conflict, choose["choice"], text=choose.get("text", ""), editor=str(request.user)
        )
        return Response(ConflictSerializer(conflict).data)
