"""Lists by cursor: stable while rows are added in front."""

from rest_framework.pagination import CursorPagination


class NewestFirst(CursorPagination):
    """``{"next", "previous", "results"}``, newest first; ``?limit=`` up to 200."""

    page_size = 50
    page_size_query_param = "limit"
    max_page_size = 200
    ordering: str | tuple[str, ...] = "-id"
