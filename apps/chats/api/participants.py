"""API of the participants of a group chat and of its rounds."""

from typing import Any
from uuid import UUID

from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats import operations
from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.models import Participant
from apps.chats.queries import MAX_ROUNDS, access_chat, rounds_of
from apps.chats.serializers import OwnedCharacterField
from apps.common.api.serializer_fields import (
    PositionField,
    StrictBooleanField,
    StrictSerializer,
    TextField,
    read_body,
    read_query,
)


class ParticipantSerializer(serializers.Serializer[Participant]):
    """A participant in a response."""

    id = serializers.UUIDField()
    name = serializers.CharField()
    character = serializers.UUIDField(source="character_id", allow_null=True)
    position = serializers.IntegerField()
    muted = serializers.BooleanField()


class ParticipantsSerializer(serializers.Serializer[Any]):
    results = ParticipantSerializer(many=True)


class NewParticipantSerializer(StrictSerializer):
    name = TextField(
        max_length=MAX_NAME_LENGTH, allow_blank=False, required=False, help_text="Default: the character's name."
    )
    character = OwnedCharacterField(default=None)
    muted = StrictBooleanField(default=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if "name" not in attrs:
            if attrs["character"] is None:
                raise serializers.ValidationError({"name": ["Give a name or a character."]})
            attrs["name"] = attrs["character"].name
        return attrs


class ParticipantUpdateSerializer(StrictSerializer):
    name = TextField(max_length=MAX_NAME_LENGTH, allow_blank=False, required=False)
    character = OwnedCharacterField(required=False)
    position = PositionField(required=False)
    muted = StrictBooleanField(required=False)


class RoundQuery(serializers.Serializer[Any]):
    limit = serializers.IntegerField(default=20, min_value=1, max_value=MAX_ROUNDS)

    def get_fields(self) -> dict[str, Any]:
        start = serializers.IntegerField(default=0, min_value=0, max_value=2**31 - 1)
        return super().get_fields() | {"from": start}


class RoundMessageSerializer(serializers.Serializer[Any]):
    """A message of a round in a response."""

    id = serializers.UUIDField()
    index = serializers.IntegerField()
    name = serializers.CharField()
    participant = serializers.UUIDField(source="participant_id", allow_null=True)


class RoundSerializer(serializers.Serializer[Any]):
    round = serializers.IntegerField(source="number")
    user = RoundMessageSerializer(many=True)
    turns = RoundMessageSerializer(many=True)


class RoundsSerializer(serializers.Serializer[Any]):
    total = serializers.IntegerField()
    results = RoundSerializer(many=True)


class ParticipantListView(APIView):
    @extend_schema(responses=ParticipantsSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        """List the participants in the order of their turns."""
        chat = access_chat(request.user, chat_id)
        participants = chat.participants.order_by("position")
        return Response(ParticipantsSerializer({"results": participants}).data)

    @extend_schema(request=NewParticipantSerializer, responses={201: ParticipantSerializer})
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Add a participant; the chat becomes a group chat."""
        chat = access_chat(request.user, chat_id)
        body = read_body(NewParticipantSerializer, request)
        participant = operations.add_participant(request.user, chat.pk, **body)
        return Response(ParticipantSerializer(participant).data, status=status.HTTP_201_CREATED)


class ParticipantView(APIView):
    @extend_schema(request=ParticipantUpdateSerializer, responses=ParticipantSerializer)
    def patch(self, request: Request, chat_id: UUID, participant_id: UUID) -> Response:
        """Change a participant."""
        chat = access_chat(request.user, chat_id)
        body = read_body(ParticipantUpdateSerializer, request)
        participant = operations.update_participant(request.user, chat.pk, participant_id, **body)
        return Response(ParticipantSerializer(participant).data)

    @extend_schema(responses={204: None})
    def delete(self, request: Request, chat_id: UUID, participant_id: UUID) -> Response:
        """Remove a participant. Their messages stay."""
        operations.remove_participant(request.user, access_chat(request.user, chat_id).pk, participant_id)
        return Response(status=status.HTTP_204_NO_CONTENT)


class RoundView(APIView):
    @extend_schema(
        parameters=[
            OpenApiParameter("from", OpenApiTypes.INT, description="The first round, from 0."),
            OpenApiParameter("limit", OpenApiTypes.INT, description=f"Up to {MAX_ROUNDS}."),
        ],
        responses=RoundsSerializer,
    )
    def get(self, request: Request, chat_id: UUID) -> Response:
        """List rounds: messages of the user, and the turns that followed them."""
        chat = access_chat(request.user, chat_id)
        query = read_query(RoundQuery, request)
        total, rounds = rounds_of(chat, query["from"], query["limit"])
        return Response(RoundsSerializer({"total": total, "results": rounds}).data)
