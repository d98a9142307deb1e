"""Helpers for views of the memories API: loading rows, reading bodies, and base classes for views under a chat."""

from typing import Any, TypeVar

from django.db.models import Model, QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from apps.chats.models import Chat
from apps.chats.queries import access_chat
from apps.common.problems import Missing
from apps.common.serializer_fields import read_body as read_body

Row = TypeVar("Row", bound=Model)


def get_or_missing(rows: QuerySet[Row], **lookup: Any) -> Row:
    """Return the matching row. Raise Missing if there is none."""
    found = rows.filter(**lookup).first()
    if found is None:
        raise Missing(f"There is no such {rows.model._meta.verbose_name}.")
    return found


class ChatLayerView(APIView):
    """Base of views under ``chats/{chat_id}/``. A chat of another user, or none, is a 404 before the view runs."""

    chat: Chat

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        self.chat = access_chat(request.user, kwargs["chat_id"])

    @property
    def editor(self) -> str:
        """Return the name that is recorded with a correction."""
        return str(self.request.user)


class AllResults(BasePagination):
    """Reply all rows at once, as ``{"results": [...]}``."""

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any]:
        return list(queryset)

    def get_paginated_response(self, data: Any) -> Response:
        return Response({"results": data})

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        return {"type": "object", "required": ["results"], "properties": {"results": schema}}
