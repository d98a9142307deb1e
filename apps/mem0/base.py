"""Base of the views for mem0's clients: what a token sees, bodies, errors and pages as those read them."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from drf_spectacular.utils import extend_schema
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.accounts.authentication import namespace_of
from apps.common.api.serializer_fields import read_body, read_query
from apps.common.problems import Invalid, Missing
from apps.mem0.events import events_of
from apps.mem0.filters import USER
from apps.mem0.models import Mem0Event
from apps.memories.models import Memory
from apps.memories.visibility import MemoryQuerySet


@extend_schema(exclude=True)
class Mem0View(APIView):
    """Base of the views. mem0's clients read ``detail`` of an error only from plain JSON.

    With a token that is bound to a namespace, that is the only user there is.
    """

    keeps_to_namespace = True

    def handle_exception(self, exc: Exception) -> Response:
        response = super().handle_exception(exc)
        response.content_type = "application/json"
        return response

    def memories(self, *, deleted: bool = False) -> MemoryQuerySet:
        """Return the memories that the token sees, with ``deleted`` those too that were deleted."""
        rows: MemoryQuerySet = Memory.objects.for_owner(self.request.user).select_related("chat__mem0")
        rows = rows if deleted else rows.undeleted()
        bound = namespace_of(self.request)
        return rows.in_namespace(bound) if bound else rows

    def events(self) -> QuerySet[Mem0Event]:
        bound = namespace_of(self.request)
        rows = events_of(self.request.user)
        return rows.filter(chat__namespace=bound) if bound else rows

    def require(self, *ids: UUID) -> None:
        """Raise Missing unless the token sees all of these memories."""
        if self.memories().filter(pk__in=ids).count() < len(set(ids)):
            raise Missing("There is no such memory.")

    def read(self, serializer: type[Any]) -> dict[str, Any]:
        """Return the validated body, with the user that the token is bound to. Raise Invalid for another one."""
        return self._bound(read_body(serializer, self.request))

    def read_query(self, serializer: type[Any]) -> dict[str, Any]:
        """Return the validated query, as ``read``."""
        return self._bound(read_query(serializer, self.request))

    def _bound(self, body: dict[str, Any]) -> dict[str, Any]:
        bound = namespace_of(self.request)
        if bound and body.get(USER) not in (None, "", bound):
            raise Invalid.at(f"/{USER}", "This token is for another user.")
        return body | {USER: bound} if bound else body

    def page(self, rows: Any, describe: Any, page: int, size: int) -> dict[str, Any]:
        """Return a page of rows, with the addresses of those around it."""
        count = rows.count()
        first = (page - 1) * size
        return {
            "count": count,
            "next": self._link(page + 1, size) if first + size < count else None,
            "previous": self._link(page - 1, size) if page > 1 else None,
            "results": [describe(row) for row in rows[first : first + size]],
        }

    def _link(self, page: int, size: int) -> str:
        query = self.request.query_params.copy()
        query["page"], query["page_size"] = str(page), str(size)
        return self.request.build_absolute_uri(f"{self.request.path}?{query.urlencode()}")
