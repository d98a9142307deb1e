"""The layers beside memories over HTTP: each to be read, and corrected where a person may."""

from typing import Any
from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.models import Chat
from apps.chats.queries import access_chat
from apps.common.pagination import NewestFirst
from apps.common.problems import Missing
from apps.memories import layer_wire as wire
from apps.memories import queries
from apps.memories.api import layer_serializers as shapes
from apps.memories.models import Arc, Entity, Knowledge, VersionedText
from apps.memories.operations import layer_corrections as corrections


def access_row(model: Any, request: Request, **named: Any) -> Any:
    """The requester's row. Raises Missing."""
    found = model.objects.for_owner(request.user).filter(**named).first()
    if found is None:
        raise Missing(f"There is no such {model._meta.verbose_name}.")
    return found


def _valid(serializer: Any, request: Request) -> Any:
    body = serializer(data=request.data, context={"request": request})
    body.is_valid(raise_exception=True)
    return body


class DigestView(APIView):
    """A text made from the rest, in versions."""

    kind: VersionedText.Kind

    def _reply(self, chat: Chat) -> Response:
        versions = list(queries.digests_of(chat, self.kind))
        current = next((one for one in versions if one.state == VersionedText.State.CURRENT), None)
        return Response(wire.digests_document(current, versions))

    @extend_schema(responses=shapes.DigestsSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        return self._reply(access_chat(request.user, chat_id))


class SummaryView(DigestView):
    kind = VersionedText.Kind.SUMMARY

    @extend_schema(request=shapes.TextSerializer, responses=shapes.DigestsSerializer)
    def patch(self, request: Request, chat_id: UUID) -> Response:
        """Write the summary so far by hand; it still ends where it ended."""
        chat = access_chat(request.user, chat_id)
        body = _valid(shapes.TextSerializer, request)
        corrections.edit_digest(chat, self.kind, editor=str(request.user), text=body.validated_data["text"])
        return self._reply(chat)


class ProfilesView(DigestView):
    kind = VersionedText.Kind.PROFILE

    @extend_schema(request=shapes.ProfileUpdateSerializer, responses=shapes.DigestsSerializer)
    def patch(self, request: Request, chat_id: UUID) -> Response:
        chat = access_chat(request.user, chat_id)
        body = _valid(shapes.ProfileUpdateSerializer, request)
        character = body.validated_data["character"] or chat.character
        corrections.edit_digest(chat, self.kind, editor=str(request.user), character=character, **body.parts())
        return self._reply(chat)


class CanonView(DigestView):
    kind = VersionedText.Kind.CANON

    @extend_schema(request=shapes.CharacterTextSerializer, responses=shapes.DigestsSerializer)
    def patch(self, request: Request, chat_id: UUID) -> Response:
        chat = access_chat(request.user, chat_id)
        body = _valid(shapes.CharacterTextSerializer, request)
        character = body.validated_data["character"] or chat.character
        text = body.validated_data["text"]
        corrections.edit_digest(chat, self.kind, editor=str(request.user), character=character, text=text)
        return self._reply(chat)


class ContinuityView(DigestView):
    kind = VersionedText.Kind.CONTINUITY


class ArcListView(APIView):
    @extend_schema(responses=shapes.ArcsSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        """The chat's arcs and the persistent ones of its character, open ones first."""
        chat = access_chat(request.user, chat_id)
        return Response({"results": [wire.arc_document(arc) for arc in queries.arcs_in(chat)]})

    @extend_schema(request=shapes.ArcCreateSerializer, responses={201: shapes.ArcSerializer})
    def post(self, request: Request, chat_id: UUID) -> Response:
        chat = access_chat(request.user, chat_id)
        body = _valid(shapes.ArcCreateSerializer, request)
        arc = corrections.create_arc(chat, editor=str(request.user), **body.validated_data)
        return Response(wire.arc_document(arc), status=status.HTTP_201_CREATED)


class ArcView(APIView):
    def _arc(self, request: Request, chat_id: UUID, arc_id: UUID) -> Arc:
        chat = access_chat(request.user, chat_id)
        found = queries.arcs_in(chat).filter(pk=arc_id).first()
        if found is None:
            raise Missing("There is no such arc in this chat.")
        return found

    @extend_schema(request=shapes.ArcUpdateSerializer, responses=shapes.ArcSerializer)
    def patch(self, request: Request, chat_id: UUID, arc_id: UUID) -> Response:
        arc = self._arc(request, chat_id, arc_id)
        changes = dict(_valid(shapes.ArcUpdateSerializer, request).validated_data)
        editor, state = str(request.user), changes.pop("state", arc.state)
        if state != arc.state:
            closes = state == Arc.State.RESOLVED
            arc = corrections.close_arc(arc, editor=editor) if closes else corrections.reopen_arc(arc, editor=editor)
        if changes:
            arc = corrections.edit_row(arc, editor=editor, **changes)
        return Response(wire.arc_document(arc))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, chat_id: UUID, arc_id: UUID) -> Response:
        """Take it out; it is kept, and not opened again by a run."""
        corrections.retire_row(self._arc(request, chat_id, arc_id), editor=str(request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)


class LedgerView(APIView):
    @extend_schema(responses=shapes.LedgerSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        """The state of everybody and everything, with its history."""
        chat = access_chat(request.user, chat_id)
        return Response({"results": [wire.state_document(one) for one in queries.ledger_in(chat)]})

    @extend_schema(request=shapes.LedgerUpdateSerializer, responses=shapes.LedgerSerializer)
    def patch(self, request: Request, chat_id: UUID) -> Response:
        """Give a field its value from now on; null clears it."""
        chat = access_chat(request.user, chat_id)
        data = _valid(shapes.LedgerUpdateSerializer, request).validated_data
        corrections.set_state(
            chat, data["entity"], data["type"], data["field"], data["value"], editor=str(request.user)
        )
        return self.get(request, chat_id)


class KnowledgeListView(APIView):
    @extend_schema(responses=shapes.KnowledgeListSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        """Who knows, suspects, believes, is unaware of, or hides what."""
        chat = access_chat(request.user, chat_id)
        return Response({"results": [wire.knowledge_document(row) for row in queries.knowledge_in(chat)]})

    @extend_schema(request=shapes.KnowledgeCreateSerializer, responses={201: shapes.KnowledgeSerializer})
    def post(self, request: Request, chat_id: UUID) -> Response:
        chat = access_chat(request.user, chat_id)
        body = _valid(shapes.KnowledgeCreateSerializer, request)
        row = corrections.create_knowledge(chat, editor=str(request.user), **body.validated_data)
        return Response(wire.knowledge_document(row), status=status.HTTP_201_CREATED)


class KnowledgeView(APIView):
    @extend_schema(request=shapes.LineSerializer, responses=shapes.KnowledgeSerializer)
    def patch(self, request: Request, chat_id: UUID, knowledge_id: UUID) -> Response:
        row = access_row(Knowledge, request, chat=chat_id, pk=knowledge_id, state=Knowledge.State.ACTIVE)
        body = _valid(shapes.LineSerializer, request)
        row = corrections.edit_row(row, editor=str(request.user), **body.validated_data)
        return Response(wire.knowledge_document(row))

    @extend_schema(responses={204: None})
    def delete(self, request: Request, chat_id: UUID, knowledge_id: UUID) -> Response:
        row = access_row(Knowledge, request, chat=chat_id, pk=knowledge_id)
        corrections.retire_row(row, editor=str(request.user))
        return Response(status=status.HTTP_204_NO_CONTENT)


class RelationshipsView(APIView):
    @extend_schema(responses=shapes.RelationshipsSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        """How people stand to each other, and stood."""
        chat = access_chat(request.user, chat_id)
        return Response({"results": [wire.pair_document(pair) for pair in queries.relationships_in(chat)]})

    @extend_schema(request=shapes.RelationshipUpdateSerializer, responses=shapes.RelationshipsSerializer)
    def patch(self, request: Request, chat_id: UUID) -> Response:
        chat = access_chat(request.user, chat_id)
        data = _valid(shapes.RelationshipUpdateSerializer, request).validated_data
        corrections.set_relationship(chat, editor=str(request.user), **data)
        return self.get(request, chat_id)


class EntityListView(generics.GenericAPIView[Entity]):
    serializer_class = shapes.EntitySerializer
    pagination_class = NewestFirst

    def get_queryset(self) -> Any:
        return Entity.objects.for_owner(self.request.user)

    @extend_schema(operation_id="entities_list")
    def get(self, request: Request) -> Response:
        """Everybody and everything that memories speak of."""
        page = self.paginate_queryset(self.get_queryset())
        return self.get_paginated_response([wire.entity_document(entity) for entity in page or []])


class EntityView(APIView):
    @extend_schema(responses=shapes.EntitySerializer)
    def get(self, request: Request, entity_id: UUID) -> Response:
        return Response(wire.entity_document(access_row(Entity, request, pk=entity_id)))

    @extend_schema(request=shapes.EntityUpdateSerializer, responses=shapes.EntitySerializer)
    def patch(self, request: Request, entity_id: UUID) -> Response:
        entity = access_row(Entity, request, pk=entity_id)
        body = _valid(shapes.EntityUpdateSerializer, request)
        return Response(wire.entity_document(corrections.edit_entity(entity, **body.validated_data)))


class EntityMergeView(APIView):
    @extend_schema(request=shapes.EntityMergeSerializer, responses=shapes.EntitySerializer)
    def post(self, request: Request, entity_id: UUID) -> Response:
        """Two that are the same become one; the name of the first is an alias of the other."""
        entity = access_row(Entity, request, pk=entity_id)
        body = _valid(shapes.EntityMergeSerializer, request)
        return Response(wire.entity_document(corrections.merge_entities(entity, body.validated_data["into"])))
