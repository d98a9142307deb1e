"""API of the recap that a chat opens with after an absence."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.prompts.away_recaps import dismiss_recap, due_recap, is_awaited
from apps.prompts.models import AwayRecap


class AwayRecapSerializer(serializers.Serializer[Any]):
    text = serializers.CharField()
    by_model = serializers.BooleanField(help_text="Whether a model wrote it; else it lists scenes and memories.")
    pending = serializers.SerializerMethodField(help_text="Whether a model is still writing: ask again soon.")
    away_since = serializers.DateTimeField()

    def get_pending(self, recap: AwayRecap) -> bool:
        return is_awaited(recap)


class AwayRecapView(APIView):
    @extend_schema(responses={200: AwayRecapSerializer, 204: None})
    def get(self, request: Request, chat_id: UUID) -> Response:
        """Return the recap for who was away. Without one that is due, the reply is a 204."""
        recap = due_recap(request.user, chat_id)
        if recap is None:
            return Response(status=status.HTTP_204_NO_CONTENT)
        return Response(AwayRecapSerializer(recap).data)


class AwayRecapDismissView(APIView):
    @extend_schema(request=None, responses={204: None})
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Dismiss the recap: it is not shown again."""
        dismiss_recap(request.user, chat_id)
        return Response(status=status.HTTP_204_NO_CONTENT)
