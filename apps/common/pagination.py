"""Cursor pagination, which stays stable while rows are added."""

from rest_framework.pagination import CursorPagination


class NewestFirstPagination(CursorPagination):
    """Paginate as ``{"next", "previous", "results"}``, newest first; page size ``?limit=``, at most 200."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200
    ordering: str | tuple[str, ...] = "-id"
