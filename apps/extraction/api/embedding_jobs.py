"""Vectors made anew, over HTTP."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.extraction import jobs
from apps.extraction.api.model_tests import JobSerializer
from apps.extraction.embedding_jobs import current_model, waiting
from apps.extraction.job_documents import reembedding_document
from apps.extraction.models import EmbeddingJob
from apps.extraction.tasks import request_reembedding


class ReembeddingJobSerializer(JobSerializer):
    model = serializers.CharField()


class ReembeddingSerializer(serializers.Serializer[Any]):
    """``model`` makes the vectors now; ``waiting`` is how many it hasn't made yet; ``job`` is the latest one."""

    model = serializers.CharField()
    waiting = serializers.IntegerField()
    job = ReembeddingJobSerializer(allow_null=True)


class ReembeddingView(APIView):
    @extend_schema(responses=ReembeddingSerializer)
    def get(self, request: Request) -> Response:
        return Response(_document(request.user))

    @extend_schema(request=None, responses={202: ReembeddingSerializer, 200: ReembeddingSerializer})
    def post(self, request: Request) -> Response:
        """Make the vectors that the present model hasn't made. One job at a time; 200 where nothing is to do."""
        job = request_reembedding(request.user)
        return Response(_document(request.user), status=status.HTTP_202_ACCEPTED if job else status.HTTP_200_OK)


class CancelView(APIView):
    @extend_schema(request=None, responses=ReembeddingSerializer)
    def post(self, request: Request) -> Response:
        """Stop the job, where one goes on. What it made stays; the rest is found by its words."""
        if job := jobs.active_job(EmbeddingJob, request.user):
            jobs.cancel_job(job)
        return Response(_document(request.user))


def _document(owner: Any) -> dict[str, Any]:
    model = current_model(owner)
    return reembedding_document(model, waiting(owner, model), jobs.latest_job(EmbeddingJob, owner))
