"""Views of the journal."""

from typing import Any, cast
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone
from drf_spectacular.utils import extend_schema, extend_schema_view
from rest_framework import mixins, status, viewsets
from rest_framework.request import Request
from rest_framework.response import Response

from apps.accounts.authentication import check_instance
from apps.accounts.models import User
from apps.common.api.pagination import NewestFirstPagination
from apps.common.api.serializer_fields import read_body, read_query
from apps.journal.api.serializers import (
    ConsolidateSerializer,
    EntryCreateSerializer,
    EntryFilterSerializer,
    EntryUpdateSerializer,
    PeriodsSerializer,
)
from apps.journal.entries import delete_entry, edit_entry, merge_daily, write_significant
from apps.journal.operations import request_consolidation
from apps.journal.queries import entries_between
from apps.memories.api.base import get_or_missing
from apps.memories.api.journal_serializers import JournalEntrySerializer
from apps.memories.journal.periods import Granularity
from apps.memories.models import JournalEntry


class LatestPeriodFirst(NewestFirstPagination):
    """Pagination by the first day of the period, the latest first."""

    ordering = ("-starts", "-id")


@extend_schema_view(
    list=extend_schema(parameters=[EntryFilterSerializer], description="List the entries, the latest period first."),
    retrieve=extend_schema(description="Return an entry."),
    destroy=extend_schema(description="Delete an entry. To delete it again changes nothing."),
)
class JournalViewSet(
    mixins.ListModelMixin, mixins.RetrieveModelMixin, mixins.DestroyModelMixin, viewsets.GenericViewSet[JournalEntry]
):
    """The requester's journal entries that are not deleted."""

    serializer_class = JournalEntrySerializer
    pagination_class = LatestPeriodFirst

    def get_queryset(self) -> QuerySet[JournalEntry]:
        entries = JournalEntry.objects.for_owner(self.request.user).prefetch_related("sources")
        return entries if self.action == "destroy" else entries.present()

    def get_object(self) -> JournalEntry:
        return get_or_missing(self.get_queryset(), pk=self.kwargs["journal_id"])

    def filter_queryset(self, queryset: Any) -> Any:
        filters: dict[str, Any] = read_query(EntryFilterSerializer, self.request)
        rows = entries_between(queryset, filters.pop("from", None), filters.pop("to", None))
        return rows.filter(**filters)

    @extend_schema(request=EntryCreateSerializer, responses={200: JournalEntrySerializer, 201: JournalEntrySerializer})
    def create(self, request: Request) -> Response:
        """Create a significant entry, or merge bullets into the daily of an instance: 200 if that was there."""
        body = read_body(EntryCreateSerializer, request)
        period, instance = body.pop("period"), body.pop("instance")
        if period.granularity == Granularity.SIGNIFICANT:
            entry, is_new = write_significant(request.user, period=period.first, editor=str(request.user), **body), True
        else:
            instance = check_instance(request, instance)
            entry, is_new = merge_daily(request.user, period=period.first, instance=instance, **body)
        code = status.HTTP_201_CREATED if is_new else status.HTTP_200_OK
        return Response(JournalEntrySerializer(entry).data, status=code)

    @extend_schema(request=EntryUpdateSerializer)
    def partial_update(self, request: Request, journal_id: UUID) -> Response:
        """Correct an entry. No consolidation overwrites it afterwards."""
        entry = edit_entry(self.get_object(), editor=str(request.user), **read_body(EntryUpdateSerializer, request))
        return Response(JournalEntrySerializer(entry).data)

    def perform_destroy(self, instance: JournalEntry) -> None:
        """Delete the entry. To delete it again changes nothing."""
        if instance.deleted_at is None:
            delete_entry(instance)

    @extend_schema(request=ConsolidateSerializer, responses={202: PeriodsSerializer})
    def consolidate(self, request: Request) -> Response:
        """Have weeks, months and years made: those that are due, or a period with those below it."""
        body = read_body(ConsolidateSerializer, request)
        periods = request_consolidation(cast(User, request.user), timezone.now(), **body)
        return Response(PeriodsSerializer({"periods": periods}).data, status=status.HTTP_202_ACCEPTED)
