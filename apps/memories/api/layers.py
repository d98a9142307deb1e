"""Views of the layers of a chat: texts, arcs, ledger, knowledge and relationships."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apps.common.api.serializer_fields import read_body
from apps.memories.api import layer_serializers as serializers
from apps.memories.api.base import AllResults, ChatLayerView, get_or_missing
from apps.memories.models import Arc, Knowledge, VersionedText
from apps.memories.operations.arcs import close_arc, create_arc, reopen_arc
from apps.memories.operations.knowledge import create_knowledge
from apps.memories.operations.layer_entries import edit_entry, retire_entry
from apps.memories.operations.ledger import set_field_by_hand
from apps.memories.operations.relationships import set_relationship
from apps.memories.operations.texts import edit_text
from apps.memories.queries.arcs import arc_rows_in, arcs_in
from apps.memories.queries.endings import endings_seen_in, with_endings
from apps.memories.queries.knowledge import knowledge_in
from apps.memories.queries.ledger import ledger_in
from apps.memories.queries.relationships import relationships_in
from apps.memories.queries.texts import versions_in


class TextView(ChatLayerView):
    """A versioned text: the current version and all versions."""

    kind: VersionedText.Kind

    def version_list_response(self) -> Response:
        versions = list(versions_in(self.chat, self.kind))
        current = next((version for version in versions if version.state == VersionedText.State.CURRENT), None)
        return Response(serializers.TextVersionsSerializer({"current": current, "versions": versions}).data)

    @extend_schema(responses=serializers.TextVersionsSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        """Return the current version and all versions."""
        return self.version_list_response()


class SummaryView(TextView):
    kind = VersionedText.Kind.SUMMARY

    @extend_schema(request=serializers.TextSerializer, responses=serializers.TextVersionsSerializer)
    def patch(self, request: Request, chat_id: UUID) -> Response:
        """Edit the summary. The last message that it covers stays the same."""
        edit_text(self.chat, self.kind, editor=self.editor, **read_body(serializers.TextSerializer, request))
        return self.version_list_response()


class CharacterTextView(TextView):
    """Base view for a character's texts. The character is the one in the request body, or the chat's by default."""

    def edit(self, body: dict[str, Any]) -> Response:
        character = body.pop("character") or self.chat.character
        edit_text(self.chat, self.kind, editor=self.editor, character=character, **body)
        return self.version_list_response()


class ProfilesView(CharacterTextView):
    kind = VersionedText.Kind.PROFILE

    @extend_schema(request=serializers.ProfileUpdateSerializer, responses=serializers.TextVersionsSerializer)
    def patch(self, request: Request, chat_id: UUID) -> Response:
        """Edit a profile of the character in the body, or of the chat's."""
        return self.edit(read_body(serializers.ProfileUpdateSerializer, request))


class CanonView(CharacterTextView):
    kind = VersionedText.Kind.CANON

    @extend_schema(request=serializers.CharacterTextSerializer, responses=serializers.TextVersionsSerializer)
    def patch(self, request: Request, chat_id: UUID) -> Response:
        """Edit the canon of the character in the body, or of the chat's."""
        return self.edit(read_body(serializers.CharacterTextSerializer, request))


class ContinuityView(TextView):
    kind = VersionedText.Kind.CONTINUITY


@extend_schema_view(
    list=extend_schema(description="List the chat's arcs and the persistent ones of its character, open ones first.")
)
class ArcViewSet(ChatLayerView, mixins.ListModelMixin, mixins.DestroyModelMixin, viewsets.GenericViewSet[Arc]):
    """The chat's arcs and the persistent ones of its character, open ones first."""

    serializer_class = serializers.ArcSerializer
    pagination_class = AllResults

    def get_queryset(self) -> QuerySet[Arc]:
        return arc_rows_in(self.chat)

    def paginate_queryset(self, queryset: Any) -> list[Any]:
        return arcs_in(self.chat)

    def get_object(self) -> Arc:
        row = get_or_missing(self.get_queryset(), pk=self.kwargs["arc_id"])
        return with_endings([row], endings_seen_in(self.chat))[0]

    @extend_schema(request=serializers.ArcCreateSerializer, responses={201: serializers.ArcSerializer})
    def create(self, request: Request, chat_id: UUID) -> Response:
        """Open an arc."""
        arc = create_arc(self.chat, editor=self.editor, **read_body(serializers.ArcCreateSerializer, request))
        return Response(serializers.ArcSerializer(arc).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=serializers.ArcUpdateSerializer)
    def partial_update(self, request: Request, chat_id: UUID, arc_id: UUID) -> Response:
        """Correct, close or reopen an arc."""
        arc = self.get_object()
        changes = read_body(serializers.ArcUpdateSerializer, request)
        state = changes.pop("state", arc.state)
        if state != arc.state:
            change_state = close_arc if state == Arc.State.RESOLVED else reopen_arc
            arc = change_state(arc, editor=self.editor)
        if changes:
            arc = edit_entry(arc, editor=self.editor, **changes)
        return Response(serializers.ArcSerializer(arc).data)

    @extend_schema(description="Retire an arc. The row is kept, and no run opens the arc again.")
    def destroy(self, request: Request, chat_id: UUID, arc_id: UUID) -> Response:
        retire_entry(self.get_object(), editor=self.editor)
        return Response(status=status.HTTP_204_NO_CONTENT)


@extend_schema_view(
    list=extend_schema(description="List what each character knows, suspects, believes, is unaware of or hides.")
)
class KnowledgeViewSet(ChatLayerView, mixins.ListModelMixin, viewsets.GenericViewSet[Knowledge]):
    """Knowledge entries: what each character knows, suspects, believes, is unaware of or hides."""

    serializer_class = serializers.KnowledgeSerializer
    pagination_class = AllResults

    def get_queryset(self) -> QuerySet[Knowledge]:
        return knowledge_in(self.chat)

    @extend_schema(request=serializers.KnowledgeCreateSerializer, responses={201: serializers.KnowledgeSerializer})
    def create(self, request: Request, chat_id: UUID) -> Response:
        """Create an entry of what a character knows."""
        body = read_body(serializers.KnowledgeCreateSerializer, request)
        row = create_knowledge(self.chat, editor=self.editor, **body)
        return Response(serializers.KnowledgeSerializer(row).data, status=status.HTTP_201_CREATED)

    @extend_schema(request=serializers.KnowledgeUpdateSerializer)
    def partial_update(self, request: Request, chat_id: UUID, knowledge_id: UUID) -> Response:
        """Correct an entry."""
        row = get_or_missing(self.get_queryset(), pk=knowledge_id)
        row = edit_entry(row, editor=self.editor, **read_body(serializers.KnowledgeUpdateSerializer, request))
        return Response(serializers.KnowledgeSerializer(row).data)

    def destroy(self, request: Request, chat_id: UUID, knowledge_id: UUID) -> Response:
        """Retire an entry. No run creates it again."""
        # The queryset above has active entries only, but a repeated DELETE must succeed as well.
        rows: QuerySet[Knowledge] = Knowledge.objects.for_owner(request.user).filter(chat=self.chat)
        retire_entry(get_or_missing(rows, pk=knowledge_id), editor=self.editor)
        return Response(status=status.HTTP_204_NO_CONTENT)


class LedgerView(ChatLayerView):
    """The state ledger with its history."""

    @extend_schema(responses=serializers.LedgerSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        return Response(serializers.LedgerSerializer({"results": ledger_in(self.chat)}).data)

    @extend_schema(request=serializers.LedgerUpdateSerializer, responses=serializers.LedgerSerializer)
    def patch(self, request: Request, chat_id: UUID) -> Response:
        """Set a field's current value; null clears it."""
        body = read_body(serializers.LedgerUpdateSerializer, request)
        set_field_by_hand(self.chat, body["entity"], body["type"], body["field"], body["value"], editor=self.editor)
        return self.get(request, chat_id)


class RelationshipsView(ChatLayerView):
    """How people relate to each other, with the history."""

    @extend_schema(responses=serializers.RelationshipsSerializer)
    def get(self, request: Request, chat_id: UUID) -> Response:
        return Response(serializers.RelationshipsSerializer({"results": relationships_in(self.chat)}).data)

    @extend_schema(request=serializers.RelationshipUpdateSerializer, responses=serializers.RelationshipsSerializer)
    def patch(self, request: Request, chat_id: UUID) -> Response:
        """Set how one person relates to another."""
        body = read_body(serializers.RelationshipUpdateSerializer, request)
        set_relationship(self.chat, editor=self.editor, **body)
        return self.get(request, chat_id)
