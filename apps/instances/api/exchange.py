"""Views by which instances pull, push and ask for the status."""

from typing import Any

from django.db import transaction
from drf_spectacular.types import OpenApiTypes
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.authentication import check_instance
from apps.common.api.parameters import takes_query
from apps.common.api.serializer_fields import read_body, read_query
from apps.common.problems import TooLarge
from apps.instances.api.documents import document_of, pushed_versions
from apps.instances.api.serializers import (
    PageSerializer,
    PulledSerializer,
    PullSerializer,
    PushedSerializer,
    PushSerializer,
    StatusSerializer,
)
from apps.instances.models import Instance
from apps.instances.operations.items import last_position
from apps.instances.operations.pushing import known_clock, push
from apps.instances.queries import open_conflicts, present_instances, pull

MAX_ENTRIES = 1000  # of one push


class PullView(APIView):
    """It is a POST because clocks can be long. What an instance has seen is recorded."""

    reads_only = True

    @takes_query(OpenApiParameter("limit", OpenApiTypes.INT), OpenApiParameter("cursor", OpenApiTypes.STR))
    @extend_schema(request=PullSerializer, responses=PulledSerializer)
    def post(self, request: Request) -> Response:
        """Return what has changed since a clock, or everything; each page's clock is one to pull from."""
        body, page = read_body(PullSerializer, request), read_query(PageSerializer, request)
        check_instance(request, body["instance"])
        pulled = pull(request.user, body["instance"], body["since"], after=page["cursor"], limit=page["limit"])
        return Response(document_of(pulled))


class PushView(APIView):
    @extend_schema(request=PushSerializer, responses=PushedSerializer)
    def post(self, request: Request) -> Response:
        """Store what an instance has written and deleted, all or nothing. Repeating a push changes nothing."""
        _check_size(request.data)
        body = read_body(PushSerializer, request)
        check_instance(request, body["instance"])
        report = push(request.user, body["instance"], body["clock"], list(pushed_versions(body)))
        return Response(PushedSerializer(report).data)


class StatusView(APIView):
    @extend_schema(responses=StatusSerializer)
    @transaction.atomic
    def get(self, request: Request) -> Response:
        """Return what Loci knows, the instances, and how many conflicts are open."""
        instances = Instance.objects.for_owner(request.user)
        status = {
            "clock": known_clock(list(instances), last_position(request.user)),
            "instances": present_instances(request.user).order_by("pk"),
            "open_conflicts": open_conflicts(request.user).count(),
        }
        return Response(StatusSerializer(status).data)


def _check_size(body: Any) -> None:
    """Raise TooLarge before the entries of a huge push are validated."""
    lists = [body.get(name) for name in ("identity", "memories", "tombstones")] if isinstance(body, dict) else []
    if sum(len(entries) for entries in lists if isinstance(entries, list)) > MAX_ENTRIES:
        raise TooLarge(f"A push has at most {MAX_ENTRIES} entries. Send several.")
