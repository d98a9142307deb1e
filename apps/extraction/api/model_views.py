"""API of model tests, embedding jobs and prompt templates."""

from typing import Any
from uuid import UUID

from drf_spectacular.helpers import forced_singular_serializer
from drf_spectacular.utils import extend_schema
from rest_framework import mixins, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apps.common import jobs
from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import read_body
from apps.common.problems import Missing
from apps.extraction.api.serializers import (
    EmbeddingJobStateSerializer,
    ModelTestCreateSerializer,
    ModelTestSerializer,
    PromptTemplateSerializer,
    PromptTemplatesSerializer,
    TemplateUpdateSerializer,
)
from apps.extraction.jobs.embedding_jobs import (
    cancel_embedding_job,
    count_stale,
    current_model,
    latest_embedding_job,
    request_embedding_job,
)
from apps.extraction.models import ModelTest
from apps.extraction.prompts.rendering import prompt_template, reset_template, set_template, templates_of
from apps.extraction.prompts.task import TASKS
from apps.extraction.suitability.model_tests import request_model_test


class ModelTestViewSet(mixins.ListModelMixin, mixins.RetrieveModelMixin, viewsets.GenericViewSet[ModelTest]):
    """Model tests of the requester, newest first."""

    serializer_class = ModelTestSerializer
    pagination_class = NewestFirstPagination
    lookup_url_kwarg = "test_id"

    def get_queryset(self) -> Any:
        return ModelTest.objects.for_owner(self.request.user)

    @extend_schema(request=ModelTestCreateSerializer, responses={202: ModelTestSerializer})
    def create(self, request: Request) -> Response:
        """Start a test of a model. Only one runs at a time; no memory is read or written."""
        test = request_model_test(request.user, read_body(ModelTestCreateSerializer, request)["connection"])
        return Response(self.get_serializer(test).data, status=status.HTTP_202_ACCEPTED)

    @extend_schema(request=None)
    def cancel(self, request: Request, test_id: UUID) -> Response:
        """Cancel a test. It stops within seconds; its results so far stay."""
        return Response(self.get_serializer(jobs.cancel(self.get_object())).data)


class EmbeddingJobViewSet(viewsets.ViewSet):
    """State of the requester's embeddings, with their latest job."""

    @extend_schema(responses=EmbeddingJobStateSerializer)
    def retrieve(self, request: Request) -> Response:
        return self._response(request)

    @extend_schema(request=None, responses={202: EmbeddingJobStateSerializer, 200: EmbeddingJobStateSerializer})
    def create(self, request: Request) -> Response:
        """Embed all texts that are not yet embedded with the current model. Return 200 if there are none."""
        job = request_embedding_job(request.user)
        return self._response(request, status.HTTP_202_ACCEPTED if job else status.HTTP_200_OK)

    @extend_schema(request=None, responses=EmbeddingJobStateSerializer)
    def cancel(self, request: Request) -> Response:
        """Cancel the active job, if any. Embeddings that it has computed stay."""
        cancel_embedding_job(request.user)
        return self._response(request)

    def _response(self, request: Request, status_code: int = status.HTTP_200_OK) -> Response:
        model = current_model(request.user)
        waiting, job = count_stale(request.user, model), latest_embedding_job(request.user)
        state = {"model": model, "waiting": waiting, "job": job}
        return Response(EmbeddingJobStateSerializer(state).data, status=status_code)


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
