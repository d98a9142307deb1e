"""API of prompt templates: the built-in ones, and the user's own that replace them."""

from drf_spectacular.helpers import forced_singular_serializer
from drf_spectacular.utils import extend_schema
from rest_framework import viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apps.common.api.serializer_fields import read_body
from apps.common.problems import Missing
from apps.extraction.api.serializers import (
    PromptTemplateSerializer,
    PromptTemplatesSerializer,
    TemplateUpdateSerializer,
)
from apps.extraction.prompts.overrides import reset_template, set_template, templates_of
from apps.extraction.prompts.rendering import TASKS, prompt_template


class PromptViewSet(viewsets.ViewSet):
    """Prompt templates by task."""

    def _response(self, request: Request, task: str) -> Response:
        if task not in TASKS:
            raise Missing(f"There is no task {task!r}.")
        template = prompt_template(task, templates_of(request.user).get(task))
        return Response(PromptTemplateSerializer(template).data)

    @extend_schema(operation_id="prompts_list", responses=forced_singular_serializer(PromptTemplatesSerializer))
    def list(self, request: Request) -> Response:
        """Return the templates of all tasks, in the order of a run."""
        own = templates_of(request.user)
        templates = [prompt_template(task, own.get(task)) for task in TASKS]
        return Response(PromptTemplatesSerializer({"results": templates}).data)

    @extend_schema(responses=PromptTemplateSerializer)
    def retrieve(self, request: Request, task: str) -> Response:
        return self._response(request, task)

    @extend_schema(request=TemplateUpdateSerializer, responses=PromptTemplateSerializer)
    def update(self, request: Request, task: str) -> Response:
        """Replace the built-in template. The text must contain every required placeholder."""
        set_template(request.user, task, read_body(TemplateUpdateSerializer, request)["text"])
        return self._response(request, task)

    @extend_schema(responses={200: PromptTemplateSerializer})
    def destroy(self, request: Request, task: str) -> Response:
        """Reset to the built-in template."""
        reset_template(request.user, task)
        return self._response(request, task)
