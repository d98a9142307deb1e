"""API of branches and checkpoints."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats import operations
from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.queries import access_chat
from apps.chats.serializers import ChatSerializer, chat_document
from apps.common.api.serializer_fields import PositionField, StrictBooleanField, StrictSerializer, TextField, read_body


class BranchSerializer(StrictSerializer):
    at = PositionField(help_text="The index of the last message to copy.")
    title = TextField(max_length=MAX_NAME_LENGTH, default="", help_text="Default: the chat's title with a number.")
    checkpoint = StrictBooleanField(default=False)


class BranchView(APIView):
    @extend_schema(request=BranchSerializer, responses={201: ChatSerializer})
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Create a chat that begins as this one, up to a message."""
        chat = access_chat(request.user, chat_id)
        data = read_body(BranchSerializer, request)
        branch = operations.branch_chat(
            request.user, chat.pk, data["at"], title=data["title"], is_checkpoint=data["checkpoint"]
        )
        return Response(chat_document(branch), status=status.HTTP_201_CREATED)
