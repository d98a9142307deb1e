"""API of namespaces: the end users of the requester's own application."""

from typing import Any
from urllib.parse import urlencode

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.authentication import namespace_of
from apps.common.api.parameters import takes_query
from apps.common.api.serializer_fields import StrictSerializer, read_query
from apps.common.problems import Missing
from apps.memories.api.fields import NamespaceField
from apps.memories.operations.namespaces import erase_namespace
from apps.memories.queries.namespaces import Namespace, namespaces_of

MAX_LISTED = 200


class NamespaceSerializer(serializers.Serializer[Namespace]):
    """A namespace, and how much it has outside the bin."""

    namespace = serializers.CharField()
    memories = serializers.IntegerField()
    chats = serializers.IntegerField()
    characters = serializers.IntegerField()
    created_at = serializers.DateTimeField()
    updated_at = serializers.DateTimeField()


class NamespacePageSerializer(serializers.Serializer[Any]):
    next = serializers.URLField(allow_null=True)
    previous = serializers.URLField(allow_null=True, help_text="Always null: pages are read forwards.")
    results = NamespaceSerializer(many=True)


class NamespaceListQuery(StrictSerializer):
    after = NamespaceField(default="", help_text="Only namespaces whose names come after this one.")
    limit = serializers.IntegerField(min_value=1, default=50)


class NamedNamespaceQuery(StrictSerializer):
    namespace = NamespaceField(allow_blank=False)


class NamespaceListView(APIView):
    keeps_to_namespace = True

    @extend_schema(parameters=[NamespaceListQuery], responses=NamespacePageSerializer)
    def get(self, request: Request) -> Response:
        """List the namespaces that have chats, characters or memories, by name."""
        query = read_query(NamespaceListQuery, request)
        limit = min(query["limit"], MAX_LISTED)
        named = namespace_of(request) or None
        found = namespaces_of(request.user, named=named, after=query["after"], limit=limit + 1)
        page, link = found[:limit], None
        if len(found) > limit:
            link = request.build_absolute_uri(f"?{urlencode({'after': page[-1].namespace, 'limit': limit})}")
        return Response(NamespacePageSerializer({"next": link, "previous": None, "results": page}).data)

    @takes_query(NamedNamespaceQuery)
    @extend_schema(responses={204: None})
    def delete(self, request: Request) -> Response:
        """Erase a namespace: all its chats, characters and memories are deleted for good."""
        erase_namespace(request.user, named_namespace(request))
        return Response(status=status.HTTP_204_NO_CONTENT)


def named_namespace(request: Request) -> str:
    """Return the namespace that a request names. Raise Missing for what its token doesn't see."""
    named: str = read_query(NamedNamespaceQuery, request)["namespace"]
    if namespace_of(request) not in ("", named):
        raise Missing("There is no such namespace.")
    return named
