"""API of prompt previews."""

from uuid import UUID

from drf_spectacular.utils import extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.queries import access_chat
from apps.common.serializer_fields import read_body
from apps.injection.api.serializers import recall_context
from apps.replies.api.serializers import PreviewRequestSerializer, PreviewSerializer
from apps.replies.prompts.assembly import assemble_whole


class PromptPreviewView(APIView):
    @extend_schema(request=PreviewRequestSerializer, responses=PreviewSerializer)
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Return the whole prompt of the chat, as the model would get it. Nothing is stored."""
        chat = access_chat(request.user, chat_id)
        values = read_body(PreviewRequestSerializer, request)
        prompt = assemble_whole(
            chat,
            text=values["text"],
            character=values["character"],
            context_tokens=values["context_tokens"],
            leave_trace=False,
        )
        recalls = [prompt.memory.recall] if prompt.memory.recall else []
        return Response(PreviewSerializer(prompt, context=recall_context(request.user, recalls)).data)
