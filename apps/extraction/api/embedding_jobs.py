"""API views of the job that recomputes embeddings."""

from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.common import jobs
from apps.common.scoping import Owner
from apps.extraction.api.model_tests import JobSerializer
from apps.extraction.embedding_jobs import count_stale, current_model
from apps.extraction.models import EmbeddingJob
from apps.extraction.tasks import request_reembedding


class ReembeddingJobSerializer(JobSerializer):
    model = serializers.CharField()


class ReembeddingSerializer(serializers.Serializer[Any]):
    """Embedding model, the number of rows not yet embedded with it, and the latest job."""

    model = serializers.CharField()
    waiting = serializers.IntegerField()
    job = ReembeddingJobSerializer(allow_null=True)


class ReembeddingView(APIView):
    @extend_schema(responses=ReembeddingSerializer)
    def get(self, request: Request) -> Response:
        return Response(_document(request.user))

    @extend_schema(request=None, responses={202: ReembeddingSerializer, 200: ReembeddingSerializer})
    def post(self, request: Request) -> Response:
        """Embed what is not yet embedded with the current model. One job at a time; 200 if nothing is to do."""
        job = request_reembedding(request.user)
        return Response(_document(request.user), status=status.HTTP_202_ACCEPTED if job else status.HTTP_200_OK)


class CancelView(APIView):
    @extend_schema(request=None, responses=ReembeddingSerializer)
    def post(self, request: Request) -> Response:
        """Cancel the active job, if any. What it embedded stays; the rest is found by its words."""
        if job := EmbeddingJob.objects.for_owner(request.user).active().first():
            jobs.cancel(job)
        return Response(_document(request.user))


def _document(owner: Owner) -> dict[str, Any]:
    model = current_model(owner)
    job = EmbeddingJob.objects.for_owner(owner).order_by("-pk").first()
    return ReembeddingSerializer({"model": model, "waiting": count_stale(owner, model), "job": job}).data
