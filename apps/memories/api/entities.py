"""Views of the entity registry."""

from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apps.common.api.pagination import NewestFirstPagination
from apps.memories.api.base import get_or_missing, read_body
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


class EntityViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[Entity]):
    """The requester's people, places, things and groups that memories name."""

    serializer_class = EntitySerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Entity]:
        return Entity.objects.for_owner(self.request.user)

    def get_object(self) -> Entity:
        return get_or_missing(self.get_queryset(), pk=self.kwargs["entity_id"])

    @extend_schema(request=EntityUpdateSerializer)
    def partial_update(self, request: Request, entity_id: UUID) -> Response:
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
