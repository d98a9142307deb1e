"""API of embedding jobs: read, start and cancel the job that recomputes an owner's embeddings."""

from drf_spectacular.utils import extend_schema
from rest_framework import status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apps.common import jobs
from apps.extraction.api.serializers import EmbeddingJobStateSerializer
from apps.extraction.jobs.embedding_jobs import count_stale, current_model
from apps.extraction.models import EmbeddingJob
from apps.extraction.tasks import request_embedding_job


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
        if job := EmbeddingJob.objects.for_owner(request.user).active().first():
            jobs.cancel(job)
        return self._response(request)

    def _response(self, request: Request, status_code: int = status.HTTP_200_OK) -> Response:
        model = current_model(request.user)
        job = EmbeddingJob.objects.for_owner(request.user).order_by("-pk").first()
        state = {"model": model, "waiting": count_stale(request.user, model), "job": job}
        return Response(EmbeddingJobStateSerializer(state).data, status=status_code)
