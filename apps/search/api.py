"""View of the search."""

from dataclasses import replace
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.authentication import instance_of
from apps.chats.models import Message
from apps.chats.queries import access_character, access_chat
from apps.chats.serializers import MessageSerializer
from apps.common.api.serializer_fields import (
    BoundedListField,
    ChoiceField,
    NumberField,
    StrictIntegerField,
    StrictSerializer,
    TextField,
)
from apps.common.metrics import timed
from apps.common.problems import Invalid
from apps.common.scoping import OWN_NAMESPACE
from apps.memories.api.fields import FilterField, NamespaceField, RoundedFloatField, bound_namespace
from apps.memories.api.journal_serializers import JournalEntrySerializer
from apps.memories.api.serializers import MemorySerializer
from apps.memories.models import Memory
from apps.search.presets import PRESETS
from apps.search.service import ALL_TIERS, SearchQuery, SearchResponse, SearchResult, search

MAX_QUERY_LENGTH = 20_000
MAX_RESULTS = 200


class FoundMessageSerializer(MessageSerializer):
    """A message and its chat."""

    chat = serializers.UUIDField(source="chat_id")

    def to_representation(self, instance: Message) -> dict[str, Any]:
        return super().to_representation(instance) | {"chat": str(instance.chat_id)}


class SearchSerializer(StrictSerializer):
    query = TextField(max_length=MAX_QUERY_LENGTH, allow_blank=False)
    chat = serializers.UUIDField(allow_null=True, default=None)
    character = serializers.UUIDField(allow_null=True, default=None)
    instance = TextField(
        max_length=100, allow_null=True, default=None, help_text="Without one, the instance that the token is bound to."
    )
    # The contract also names the tier "scenes". They aren't indexed yet, so they have no results.
    tiers = BoundedListField(
        child=ChoiceField([*ALL_TIERS, "scenes"]),
        default=list(ALL_TIERS),
        allow_empty=False,
        max_length=100,
    )
    limit = StrictIntegerField(min_value=1, max_value=MAX_RESULTS, default=10)
    min_score = NumberField(min_value=0, max_value=1, default=0.0)
    preset = ChoiceField(sorted(PRESETS), default="default")
    namespace = NamespaceField(allow_null=True, default=None, help_text="Default: that of the chat or the character.")
    filter = FilterField(allow_null=True, default=None, source="where")
    kind = ChoiceField(Memory.Kind.choices, allow_null=True, default=None, help_text="Only memories of this kind.")

    def get_fields(self) -> dict[str, serializers.Field[Any, Any, Any, Any]]:
        # "from" is a keyword of Python and can't be declared as an attribute.
        days = {
            "from": serializers.DateField(
                allow_null=True,
                default=None,
                source="since",
                help_text="Only what was said on this day in UTC or later.",
            ),
            "to": serializers.DateField(
                allow_null=True, default=None, source="until", help_text="Only what was said on this day or earlier."
            ),
        }
        return super().get_fields() | days

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs["since"] and attrs["until"] and attrs["since"] > attrs["until"]:
            raise serializers.ValidationError({"to": ["It must not be before `from`."]})
        return attrs

    def validate_query(self, query: str) -> str:
        if not query.strip():
            raise serializers.ValidationError("It must contain something to search for.")
        return query

    def search_query(self) -> SearchQuery:
        return SearchQuery(**self.validated_data | {"tiers": tuple(self.validated_data["tiers"])})


class ResultSerializer(serializers.Serializer[SearchResult]):
    """A memory, a message or a journal entry with its score and the signals behind it."""

    tier = serializers.CharField()
    memory = MemorySerializer(allow_null=True)
    message = FoundMessageSerializer(allow_null=True)
    entry = JournalEntrySerializer(allow_null=True)
    score = RoundedFloatField(help_text="0 to 1, unless the preset uses a published formula with another range.")
    signals = serializers.DictField(child=RoundedFloatField())
    matched_sentence = serializers.CharField(help_text="The sentence of the text that shares most with the query.")
    excerpt = serializers.CharField()


class SearchResponseSerializer(serializers.Serializer[SearchResponse]):
    method = ChoiceField(["hybrid", "vector", "text"])
    results = ResultSerializer(many=True)


def _namespace_of(request: Request, query: SearchQuery) -> str:
    """Return what is searched: the namespace of the chat and the character, which is the named one, if any is.

    Raise Missing, and Invalid if they are of several.
    """
    chat = access_chat(request.user, query.chat) if query.chat else None
    character = access_character(request.user, query.character) if query.character else None
    named = [row.namespace for row in (chat, character) if row] + [bound_namespace(request, query.namespace)]
    namespaces = {namespace for namespace in named if namespace is not None}
    if len(namespaces) > 1:
        raise Invalid.at("/namespace", "The chat and the character must be of this namespace.")
    return namespaces.pop() if namespaces else OWN_NAMESPACE


class SearchView(APIView):
    """Search memories, messages and the journal. It only reads, but is a POST because queries can be long."""

    reads_only = True
    keeps_to_namespace = True

    @extend_schema(request=SearchSerializer, responses=SearchResponseSerializer)
    def post(self, request: Request) -> Response:
        body = SearchSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        query = body.search_query()
        query = query if query.instance is not None else replace(query, instance=instance_of(request) or None)
        query = replace(query, namespace=_namespace_of(request, query))
        with timed("loci_search_seconds"):
            response = search(request.user, query)
        return Response(SearchResponseSerializer(response).data)
