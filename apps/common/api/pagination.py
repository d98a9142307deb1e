"""Cursor pagination, which stays stable while rows are added."""

from typing import Any

from django.core.exceptions import ValidationError
from rest_framework.exceptions import NotFound
from rest_framework.pagination import CursorPagination
from rest_framework.request import Request

from apps.common.problems import Invalid


class NewestFirstPagination(CursorPagination):
    """Paginate as ``{"next", "previous", "results"}``, newest first; page size ``?limit=``, at most 200."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200
    page_size_query_description = "Results of a page: 50 if it is left out, and 200 for any number above."
    cursor_query_description = "The cursor of `next` or `previous` of a page."
    ordering: str | tuple[str, ...] = "-id"

    def get_page_size(self, request: Request) -> int | None:
        """Return the number of rows of a page. Raise Invalid if ``limit`` is no whole number above 0."""
        limit = request.query_params.get("limit", "")
        if limit and not (limit.isascii() and limit.isdecimal() and limit.strip("0")):
            raise Invalid.at("/limit", "It must be a whole number above 0.")
        return super().get_page_size(request)

    def paginate_queryset(self, queryset: Any, request: Request, view: Any = None) -> list[Any] | None:
        """Return the rows of the page. Raise Invalid for a cursor that is not one of ours."""
        try:
            return super().paginate_queryset(queryset, request, view)
        # A cursor that can't be decoded, and one whose position is no value of the field that orders the list.
        except (NotFound, ValidationError):
            raise Invalid.at("/cursor", "It must be the cursor of `next` or `previous` of a page.") from None
