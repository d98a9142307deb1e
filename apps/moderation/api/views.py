"""API of reports, decisions and looks of moderators."""

from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework import generics, status
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import read_body
from apps.moderation.api.serializers import (
    AbuseReportSerializer,
    LookSerializer,
    NewAbuseReportSerializer,
    NoticeAnswerSerializer,
    NoticeSerializer,
)
from apps.moderation.models import Look, Notice, Report
from apps.moderation.operations.notices import answer
from apps.moderation.operations.reports import report
from apps.moderation.queries import access_notice, looks_of, notices_of, reports_of
from apps.moderation.targets import find_target


class ReportListView(generics.ListAPIView[Report]):
    """List what the user has reported, newest first, or report a thing."""

    serializer_class = AbuseReportSerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Report]:
        return reports_of(self.request.user)

    @extend_schema(request=NewAbuseReportSerializer, responses={201: AbuseReportSerializer})
    def post(self, request: Request) -> Response:
        """Report a character, a message or a memory. A 409 if it is reported already."""
        body = read_body(NewAbuseReportSerializer, request)
        target = find_target(request.user, body["kind"], body["target_id"])
        made = report(request.user, target, reason=body["reason"], note=body["note"])
        return Response(AbuseReportSerializer(made).data, status=status.HTTP_201_CREATED)


class NoticeListView(generics.ListAPIView[Notice]):
    """List what was decided about the user's things and reports, newest first."""

    serializer_class = NoticeSerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Notice]:
        return notices_of(self.request.user)


class AnswerView(APIView):
    """Answer a decision, once. Suspended users may."""

    open_to_suspended = True

    @extend_schema(request=NoticeAnswerSerializer, responses=NoticeSerializer)
    def post(self, request: Request, notice_id: UUID) -> Response:
        access_notice(request.user, notice_id)
        body = read_body(NoticeAnswerSerializer, request)
        return Response(NoticeSerializer(answer(request.user, notice_id, body["text"])).data)


class LookListView(generics.ListAPIView[Look]):
    """List the looks of moderators at what is the user's, newest first."""

    serializer_class = LookSerializer
    pagination_class = NewestFirstPagination

    def get_queryset(self) -> QuerySet[Look]:
        return looks_of(self.request.user)
