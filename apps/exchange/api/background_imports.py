"""API of background imports."""

from typing import Any
from uuid import UUID

from django.conf import settings
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import generics, serializers, status
from rest_framework.parsers import MultiPartParser
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.api.uploads import check_content_length
from apps.chats.dates import timestamp
from apps.chats.models import ImportJob
from apps.common import jobs
from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import read_body
from apps.exchange.api.chat_files import ImportSerializer, ReportSerializer
from apps.exchange.chats.import_jobs import access_import_job
from apps.exchange.tasks import request_import


class ImportJobSerializer(serializers.Serializer[ImportJob]):
    """An import in a response."""

    id = serializers.UUIDField()
    filename = serializers.CharField()
    state = serializers.ChoiceField(choices=jobs.STATES)
    place = serializers.IntegerField(allow_null=True, help_text=jobs.PLACE)
    bytes_done = serializers.IntegerField()
    bytes_total = serializers.IntegerField()
    messages = serializers.IntegerField(help_text="Messages read so far.")
    chats = serializers.ListField(child=serializers.UUIDField(), help_text="Set once the import has succeeded.")
    report = ReportSerializer(allow_null=True)
    error = serializers.CharField(allow_null=True)
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    finished_at = serializers.DateTimeField(allow_null=True)

    def to_representation(self, instance: ImportJob) -> dict[str, Any]:
        return import_job_document(instance)


def import_job_document(job: ImportJob) -> dict[str, Any]:
    return {
        "id": str(job.pk),
        "filename": job.filename,
        "state": job.state,
        "place": job.place,
        "bytes_done": job.done,
        "bytes_total": job.total,
        "messages": job.messages,
        "chats": [str(chat.pk) for chat in job.chats.all()],
        "report": job.report or None,
        "error": job.error or None,
        "created_at": timestamp(job.created_at),
        "started_at": timestamp(job.started_at),
        "finished_at": timestamp(job.finished_at),
    }


class ImportStartedSerializer(serializers.Serializer[Any]):
    """The import that was queued."""

    def get_fields(self) -> dict[str, Any]:
        return super().get_fields() | {"import": ImportJobSerializer()}


@extend_schema_view(get=extend_schema(description="List the imports, newest first."))
class ImportJobListView(generics.ListAPIView[ImportJob]):
    serializer_class = ImportJobSerializer
    pagination_class = NewestFirstPagination
    parser_classes = [MultiPartParser]

    def get_queryset(self) -> Any:
        return ImportJob.objects.for_owner(self.request.user).prefetch_related("chats")

    @extend_schema(request={"multipart/form-data": ImportSerializer}, responses={202: ImportStartedSerializer})
    def post(self, request: Request) -> Response:
        """Import a file in the background. Use this for large files."""
        check_content_length(request, settings.IMPORT_MAX_BYTES)
        fields = read_body(ImportSerializer, request)
        job = request_import(request.user, fields.pop("file"), **fields)
        return Response({"import": import_job_document(job)}, status=status.HTTP_202_ACCEPTED)


class ImportJobView(APIView):
    @extend_schema(responses=ImportJobSerializer)
    def get(self, request: Request, job_id: UUID) -> Response:
        """Return an import and how far it has got."""
        return Response(import_job_document(access_import_job(request.user, job_id)))


class ImportJobCancelView(APIView):
    @extend_schema(request=None, responses=ImportJobSerializer)
    def post(self, request: Request, job_id: UUID) -> Response:
        """Cancel the import. An import that has ended is not changed."""
        return Response(import_job_document(jobs.cancel(access_import_job(request.user, job_id))))
