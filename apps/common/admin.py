"""Base class for the admin pages of models whose rows belong to users."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from apps.common.scoping import system_scope


class OwnedAdmin(admin.ModelAdmin):
    """Admin page that lists the rows of all owners. Rows can't be added."""

    list_select_related: ClassVar[Any] = ("owner",)
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> Any:
        """Return the rows of all owners."""
        with system_scope():
            return super().get_queryset(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid adding."""
        return False
