"""Search over HTTP."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.models import Character
from apps.chats.queries import access_chat
from apps.chats.serializers import MessageSerializer
from apps.common.problems import Missing
from apps.common.serializer_fields import Integer, JSONObject, Number, StrictSerializer, Text
from apps.memories.search import PRESETS, SearchQuery, search
from apps.memories.search.service import TIERS
from apps.memories.wire import search_document

MAX_QUERY = 20_000
MAX_RESULTS = 200
LATER_TIERS = ("journal", "scenes")  # of the contract; nothing of them is made yet, so nothing is found


class SearchSerializer(StrictSerializer):
    query = Text(max_length=MAX_QUERY, allow_blank=False)
    chat = serializers.UUIDField(allow_null=True, default=None)
    character = serializers.UUIDField(allow_null=True, default=None)
    instance = Text(max_length=100, allow_null=True, default=None)
    tiers = serializers.ListField(
        child=serializers.ChoiceField([*TIERS, *LATER_TIERS]), default=list(TIERS), allow_empty=False
    )
    limit = Integer(min_value=1, max_value=MAX_RESULTS, default=10)
    min_score = Number(min_value=0, max_value=1, default=0.0)
    preset = serializers.ChoiceField(sorted(PRESETS), default="default")

    def validate_query(self, query: str) -> str:
        if not query.strip():
            raise serializers.ValidationError("It must hold something to look for.")
        return query

    def search_query(self) -> SearchQuery:
        return SearchQuery(**self.validated_data | {"tiers": tuple(self.validated_data["tiers"])})


class ResultSerializer(serializers.Serializer[Any]):
    tier = serializers.CharField()
    memory = JSONObject(allow_null=True)
    message = MessageSerializer(allow_null=True)
    score = serializers.FloatField(help_text="0 to 1; of presets with the published formulas, theirs.")
    signals = serializers.DictField(child=serializers.FloatField())
    matched_sentence = serializers.CharField(help_text="The sentence of the text that shares most with the query.")
    excerpt = serializers.CharField()


class SearchReplySerializer(serializers.Serializer[Any]):
    method = serializers.ChoiceField(["hybrid", "vector", "text"])
    results = ResultSerializer(many=True)


class SearchView(APIView):
    """Memories and messages by meaning and by words. It only reads, though it is a POST: queries can be long."""

    reads_only = True

    @extend_schema(request=SearchSerializer, responses=SearchReplySerializer)
    def post(self, request: Request) -> Response:
        body = SearchSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        query = body.search_query()
        if query.chat:
            access_chat(request.user, query.chat)
        if query.character and not Character.objects.for_owner(request.user).filter(pk=query.character).exists():
            raise Missing("There is no such character.")
        return Response(search_document(search(request.user, query)))
