"""API of prompt previews and generations."""

from uuid import UUID

from django.core.handlers.asgi import ASGIRequest
from django.http import StreamingHttpResponse
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.locking import Guard
from apps.chats.queries import access_chat
from apps.common.api.json_formats import CompactJSONRenderer, EventStreamRenderer
from apps.common.api.serializer_fields import read_body
from apps.prompts.api.serializers import recall_context
from apps.prompts.assembly.prompt import assemble
from apps.prompts.assembly.requests import PromptRequest, Reply
from apps.replies import operations
from apps.replies.answers import answer
from apps.replies.api.serializers import (
    GenerationSerializer,
    PreviewRequestSerializer,
    PreviewSerializer,
    QuestionSerializer,
    ReplyRequestSerializer,
    RequestedGenerationSerializer,
    SourcedAnswerSerializer,
)
from apps.replies.presets import preset_or_default, reply_tokens_of
from apps.replies.queries import access_generation
from apps.replies.speakers import next_speaker
from apps.replies.streams import events_since, stream


class PromptPreviewView(APIView):
    @extend_schema(request=PreviewRequestSerializer, responses=PreviewSerializer)
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Return the whole prompt of the chat, as the model would get it. Nothing is stored.

        As for a reply, the preset's ``max_tokens`` are kept free in the context, but at most half of it.
        """
        chat = access_chat(request.user, chat_id)
        values = read_body(PreviewRequestSerializer, request)
        preset = preset_or_default(request.user, values["preset"])
        context_tokens = values["context_tokens"]
        prompt = assemble(
            PromptRequest(
                chat=chat,
                text=values["text"],
                character=next_speaker(chat, values["character"])[1],
                reply=Reply(preset=preset, tokens=reply_tokens_of(preset, context_tokens)),
                context_tokens=context_tokens,
                leave_trace=False,
            )
        )
        recalls = [prompt.recall] if prompt.recall else []
        return Response(PreviewSerializer(prompt, context=recall_context(request.user, recalls)).data)


class AnswerView(APIView):
    # A transaction around the call of the model would last as long as that takes. A retry asks again.
    ignores_idempotency_key = True

    @extend_schema(request=QuestionSerializer, responses=SourcedAnswerSerializer)
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Answer a question from what is remembered of the chat, with the sources. Nothing is stored but the usage."""
        chat = access_chat(request.user, chat_id)
        values = read_body(QuestionSerializer, request)
        return Response(SourcedAnswerSerializer(answer(request.user, chat, values["query"])).data)


class ReplyView(APIView):
    @extend_schema(request=ReplyRequestSerializer, responses={202: RequestedGenerationSerializer})
    def post(self, request: Request, chat_id: UUID) -> Response:
        """Request a reply of the connected model. It is stored in the chat while it comes."""
        access_chat(request.user, chat_id)
        values = read_body(ReplyRequestSerializer, request)
        guard = Guard(integrity=values.pop("integrity"), optional=True)
        generation = operations.request_generation(request.user, chat_id, guard=guard, **values)
        body = RequestedGenerationSerializer({"generation": generation}).data
        return Response(body, status=status.HTTP_202_ACCEPTED)


class GenerationView(APIView):
    @extend_schema(responses=GenerationSerializer)
    def get(self, request: Request, generation_id: UUID) -> Response:
        """Return a reply that is being written, or was."""
        return Response(GenerationSerializer(access_generation(request.user, generation_id)).data)


class StopView(APIView):
    @extend_schema(request=None, responses=GenerationSerializer)
    def post(self, request: Request, generation_id: UUID) -> Response:
        """Stop a reply that has not ended. Its text is kept, and its swipe marked as partial."""
        generation = operations.stop_generation(access_generation(request.user, generation_id))
        return Response(GenerationSerializer(generation).data)


class GenerationEventsView(APIView):
    renderer_classes = [CompactJSONRenderer, EventStreamRenderer]

    @extend_schema(
        parameters=[
            OpenApiParameter("Last-Event-ID", OpenApiTypes.INT, OpenApiParameter.HEADER),
            OpenApiParameter("html", OpenApiTypes.STR, description="If it is there, each delta has `html` too."),
        ],
        responses={(200, "text/event-stream"): OpenApiTypes.STR},
    )
    def get(self, request: Request, generation_id: UUID) -> StreamingHttpResponse:
        """Stream the text of a reply as it comes.

        `event: delta` has `{"text"}`, which follows the text so far, of some continuations after `"joint"`, a space
        that stands between the message before and all of the new text; its `"html"`, if asked for, is all text of the
        message so far as pages show it. `event: done` and `event: error` end the stream,
        with `{"state", "text", "message", "error"}` and the whole text. The id of an event is the number of characters
        up to its end; `Last-Event-ID` continues there.
        """
        generation = access_generation(request.user, generation_id)
        last_id = request.headers.get("Last-Event-ID", "")
        position = int(last_id) if last_id.isascii() and last_id.isdigit() and len(last_id) < 10 else 0
        is_async = isinstance(request._request, ASGIRequest)
        with_html = "html" in request.query_params
        follow = stream(generation.owner_id, generation.pk, position, with_html=with_html) if is_async else None
        return StreamingHttpResponse(
            follow or [events_since(generation, position, with_html=with_html)],
            content_type="text/event-stream",
            headers={"Cache-Control": "no-store", "X-Accel-Buffering": "no"},
        )
