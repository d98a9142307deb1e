"""Views of the entity registry."""

from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, serializers, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import read_body, read_query
from apps.common.scoping import OWN_NAMESPACE
from apps.memories.api.base import get_or_missing
from apps.memories.api.fields import NamespaceField
from apps.memories.api.layer_serializers import (
    EntityMergeSerializer,
    EntitySerializer,
    EntitySplitSerializer,
    EntityUpdateSerializer,
)
from apps.memories.models import Entity
from apps.memories.operations.entities import edit_entity
from apps.memories.operations.entity_merges import merge_entities, split_entity, undo_merge
from apps.memories.queries.entities import newest_merge


class EntityQuery(serializers.Serializer[Any]):
    namespace = NamespaceField(default=OWN_NAMESPACE, help_text="Default: your own.")


@extend_schema_view(
    list=extend_schema(parameters=[EntityQuery], description="List what memories name, newest first."),
    retrieve=extend_schema(description="Return an entity."),
)
class EntityViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Entity]):
    """The requester's people, places, things and groups that memories name."""

    serializer_class = EntitySerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Entity]:
        entities = Entity.objects.for_owner(self.request.user)
        if self.action != "list":
            return entities
        namespace = read_query(EntityQuery, self.request)["namespace"]
        of_chat, of_character = Q(chat__namespace=namespace), Q(character__namespace=namespace)
        return entities.filter(of_chat | of_character)

    def get_object(self) -> Entity:
        return get_or_missing(self.get_queryset(), pk=self.kwargs["entity_id"])

    @extend_schema(request=EntityUpdateSerializer)
    def partial_update(self, request: Request, entity_id: UUID) -> Response:
        """Correct an entity."""
        entity = self.get_object()
        return Response(EntitySerializer(edit_entity(entity, **read_body(EntityUpdateSerializer, request))).data)

    @extend_schema(request=EntityMergeSerializer)
    def merge(self, request: Request, entity_id: UUID) -> Response:
        """Merge an entity into another one, which gets its name as an alias. `unmerge` of that one takes it back."""
        entity = self.get_object()
        return Response(EntitySerializer(merge_entities(entity, **read_body(EntityMergeSerializer, request))).data)

    @extend_schema(request=None, responses={201: EntitySerializer})
    def unmerge(self, request: Request, entity_id: UUID) -> Response:
        """Undo the newest merge into the entity. The reply is the entity that is there again."""
        entity = undo_merge(newest_merge(self.get_object()))
        return Response(EntitySerializer(entity).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=EntitySplitSerializer, responses={201: EntitySerializer})
    def split(self, request: Request, entity_id: UUID) -> Response:
        """Make another entity of some of its memories and aliases. The reply is the new one."""
        entity = split_entity(self.get_object(), **read_body(EntitySplitSerializer, request))
        return Response(EntitySerializer(entity).data, status=status.HTTP_201_CREATED)
