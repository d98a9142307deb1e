"""Base class of the admin site's pages of owned rows."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.common.scoping import system_scope


class OwnedAdmin(admin.ModelAdmin):
    """Admin page of the rows of all owners, without adding."""

    list_select_related = ("owner",)
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the rows of all owners."""
        with system_scope():
            return super().get_queryset(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid adding."""
        return False
