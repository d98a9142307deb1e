"""API of the graph."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.queries import access_character, access_chat
from apps.common.api.serializer_fields import StrictSerializer, StrictUUIDField, TextField, read_query
from apps.common.scoping import MAX_NAMESPACE_LENGTH, OWN_NAMESPACE
from apps.graph.queries import GraphScope, read_graph
from apps.memories.api.base import get_or_missing
from apps.memories.models import Memory


class GraphQuerySerializer(StrictSerializer):
    """What the graph is about. Several narrow it down together."""

    chat = StrictUUIDField(required=False)
    character = StrictUUIDField(required=False)
    memory = StrictUUIDField(required=False)
    namespace = TextField(
        max_length=MAX_NAMESPACE_LENGTH,
        default=OWN_NAMESPACE,
        help_text="Of all of a namespace, if nothing else is named.",
    )


class MemoryGraphNodeSerializer(serializers.Serializer[Any]):
    id = serializers.UUIDField()
    kind = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]
    weight = serializers.IntegerField(help_text="The number of active memories that name it.")


class MemoryGraphEdgeSerializer(serializers.Serializer[Any]):
    source = serializers.UUIDField()  # type: ignore[assignment]
    target = serializers.UUIDField()
    relation = serializers.CharField(help_text="Descriptors of the relationship, or “named together”.")
    memories = serializers.ListField(child=serializers.UUIDField())
    messages = serializers.ListField(child=serializers.UUIDField(), help_text="The sources of a relationship.")


class LeftOutSerializer(serializers.Serializer[Any]):
    nodes = serializers.IntegerField()
    edges = serializers.IntegerField()


class MemoryGraphSerializer(serializers.Serializer[Any]):
    nodes = MemoryGraphNodeSerializer(many=True)
    edges = MemoryGraphEdgeSerializer(many=True)
    left_out = LeftOutSerializer(help_text="How many there are beyond the limits.")


class GraphView(APIView):
    @extend_schema(parameters=[GraphQuerySerializer], responses=MemoryGraphSerializer)
    def get(self, request: Request) -> Response:
        """Return the entities that memories name, and how they are connected."""
        query = read_query(GraphQuerySerializer, request)
        scope = GraphScope(
            access_chat(request.user, query["chat"]) if "chat" in query else None,
            access_character(request.user, query["character"]) if "character" in query else None,
            get_or_missing(Memory.objects.for_owner(request.user).present(), pk=query["memory"])
            if "memory" in query
            else None,
            query["namespace"],
        )
        return Response(read_graph(request.user, scope))
