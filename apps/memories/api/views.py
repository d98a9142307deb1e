"""Views of memories."""

from uuid import UUID

from django_filters.rest_framework import DjangoFilterBackend
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.authentication import instance_of, namespace_of
from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import read_body
from apps.common.problems import Missing
from apps.memories import operations
from apps.memories.api.base import get_or_missing
from apps.memories.api.fields import bound_namespace
from apps.memories.api.filters import MemoryFilter
from apps.memories.api.serializers import (
    BatchResultSerializer,
    BatchSerializer,
    HistorySerializer,
    MemoriesSerializer,
    MemoryCreateSerializer,
    MemorySerializer,
    MemoryUpdateSerializer,
    MergeSerializer,
    SplitSerializer,
)
from apps.memories.models import Memory
from apps.memories.queries.history import history_of
from apps.memories.visibility import MemoryQuerySet


@extend_schema_view(
    list=extend_schema(description="List the memories, newest first."),
    retrieve=extend_schema(description="Return a memory."),
    destroy=extend_schema(description="Delete a memory. To delete it again changes nothing."),
)
class MemoryViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.DestroyModelMixin, viewsets.GenericViewSet[Memory]
):
    """The requester's memories that are not deleted."""

    serializer_class = MemorySerializer
    pagination_class = NewestFirstPagination
    filter_backends = [DjangoFilterBackend]
    filterset_class = MemoryFilter
    keeps_to_namespace = True

    def get_queryset(self) -> MemoryQuerySet:
        memories: MemoryQuerySet = Memory.objects.for_owner(self.request.user).with_history()
        if bound := namespace_of(self.request):
            memories = memories.in_namespace(bound)
        return memories if self.action == "destroy" else memories.undeleted()

    def get_object(self) -> Memory:
        return get_or_missing(self.get_queryset(), pk=self.kwargs["memory_id"])

    def _require(self, *ids: UUID) -> None:
        """Raise Missing unless the requester's token sees all of these memories."""
        if namespace_of(self.request) and self.get_queryset().filter(pk__in=ids).count() < len(set(ids)):
            raise Missing("There is no such memory.")

    @extend_schema(request=MemoryCreateSerializer, responses={201: MemorySerializer})
    def create(self, request: Request) -> Response:
        """Create a memory that a person writes."""
        body = read_body(MemoryCreateSerializer, request)
        if namespace_of(request):
            body["namespace"] = bound_namespace(request, body.get("namespace"))
        new = operations.NewMemory(source_instance=instance_of(request), **body)
        memory = operations.create_memory(request.user, new, editor=str(request.user))
        return Response(MemorySerializer(memory).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=MemoryUpdateSerializer)
    def partial_update(self, request: Request, memory_id: UUID) -> Response:
        """Correct a memory. The text that it replaces is kept in its history."""
        memory = self.get_object()
        operations.edit_memory(memory, editor=str(request.user), **read_body(MemoryUpdateSerializer, request))
        return Response(MemorySerializer(self.get_object()).data)

    def perform_destroy(self, instance: Memory) -> None:
        """Delete the memory. To delete it again changes nothing."""
        if instance.deleted_at is None:
            operations.delete_memory(instance)

    @extend_schema(responses=HistorySerializer)
    def history(self, request: Request, memory_id: UUID) -> Response:
        """Return what happened to a memory, and to those that it replaced or that replaced it, oldest first."""
        return Response(HistorySerializer({"results": history_of(self.get_object())}).data)

    @extend_schema(request=BatchSerializer, responses=BatchResultSerializer)
    def batch(self, request: Request) -> Response:
        """Change and delete several memories: all of them, or none."""
        body = read_body(BatchSerializer, request)
        self._require(*(change["id"] for change in body["update"]), *body["delete"])
        deleted = operations.apply_batch(request.user, editor=str(request.user), **body)
        updated = self.get_queryset().filter(pk__in=[change["id"] for change in body["update"]]).order_by("pk")
        return Response(BatchResultSerializer({"updated": updated, "deleted": deleted}).data)

    @extend_schema(request=MergeSerializer, responses={201: MemorySerializer})
    def merge(self, request: Request) -> Response:
        """Merge several memories into a new one, which supersedes them."""
        body = read_body(MergeSerializer, request)
        self._require(*(memory.pk for memory in body["memories"]))
        merged = operations.merge_by_hand(editor=str(request.user), **body)
        memory = self.get_queryset().get(pk=merged.pk)
        return Response(MemorySerializer(memory).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=SplitSerializer, responses={201: MemoriesSerializer})
    def split(self, request: Request, memory_id: UUID) -> Response:
        """Split a memory into several. The first of them supersedes it."""
        parts = operations.split_memory(
            self.get_object(), editor=str(request.user), **read_body(SplitSerializer, request)
        )
        created = self.get_queryset().filter(pk__in=[part.pk for part in parts]).order_by("pk")
        return Response(MemoriesSerializer({"results": created}).data, status=status.HTTP_201_CREATED)
