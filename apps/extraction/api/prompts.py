"""Prompt templates over HTTP: what models are asked by, and a user's own in place of ours."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.common.problems import Missing
from apps.common.serializer_fields import StrictSerializer, Text
from apps.extraction.prompts.overrides import reset_template, set_template, templates_of
from apps.extraction.prompts.rendering import TASKS
from apps.extraction.prompts.sheets import prompt_document


class PlaceholderSerializer(serializers.Serializer[Any]):
    name = serializers.CharField()
    required = serializers.BooleanField()  # type: ignore[assignment]
    meaning = serializers.CharField()


class PromptTemplateSerializer(serializers.Serializer[Any]):
    """``text`` is what a model is asked by; ``default`` is the template that comes with Loci."""

    task = serializers.CharField()
    description = serializers.CharField()
    text = serializers.CharField()
    default = serializers.CharField()
    is_own = serializers.BooleanField()
    placeholders = PlaceholderSerializer(many=True)


class PromptTemplatesSerializer(serializers.Serializer[Any]):
    results = PromptTemplateSerializer(many=True)


class TemplateUpdateSerializer(StrictSerializer):
    text = Text()


class PromptListView(APIView):
    @extend_schema(operation_id="prompts_list", responses=PromptTemplatesSerializer)
    def get(self, request: Request) -> Response:
        """The template of every task, in the order of a run."""
        own = templates_of(request.user)
        return Response({"results": [prompt_document(task, own.get(task)) for task in TASKS]})


class PromptView(APIView):
    def _reply(self, request: Request, task: str) -> Response:
        if task not in TASKS:
            raise Missing(f"There is no task {task!r}.")
        return Response(prompt_document(task, templates_of(request.user).get(task)))

    @extend_schema(responses=PromptTemplateSerializer)
    def get(self, request: Request, task: str) -> Response:
        return self._reply(request, task)

    @extend_schema(request=TemplateUpdateSerializer, responses=PromptTemplateSerializer)
    def put(self, request: Request, task: str) -> Response:
        """Have models asked by a text of one's own. It must hold every placeholder that is required."""
        body = TemplateUpdateSerializer(data=request.data)
        body.is_valid(raise_exception=True)
        set_template(request.user, task, body.validated_data["text"])
        return self._reply(request, task)

    @extend_schema(responses=PromptTemplateSerializer)
    def delete(self, request: Request, task: str) -> Response:
        """Go back to the template that comes with Loci."""
        reset_template(request.user, task)
        return self._reply(request, task)
