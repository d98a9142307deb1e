"""Helpers of the memories API: load rows, read request bodies, and base classes of views and pagination."""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.models import Chat
from apps.chats.queries import access_chat
from apps.common.database.rows import first_or_missing

Row = TypeVar("Row", bound=Model)


def get_or_missing(rows: QuerySet[Row], **lookup: Any) -> Row:
    """Return the matching row. Raise Missing if there is none."""
    return first_or_missing(rows.filter(**lookup), f"There is no such {rows.model._meta.verbose_name}.")


class ChatLayerView(APIView):
    """Base of views under ``chats/{chat_id}/``, which raise Missing if the requester has no such chat."""

    chat: Chat

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.chat = access_chat(request.user, kwargs["chat_id"])

    @property
    def editor(self) -> str:
        """Return the name that is recorded with a correction."""
        return str(self.request.user)


class AllResults(BasePagination):
    """Return all rows on one page, as ``{"results": [...]}``."""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        return list(queryset)

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"results": data})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {"type": "object", "required": ["results"], "properties": {"results": schema}}
