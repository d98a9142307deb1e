"""Base classes for admin pages: lists that answer no questions about what they don't show."""

from typing import Any, ClassVar

from django.contrib import admin
from django.http import HttpRequest

from apps.common.scoping import system_scope


class ClosedListAdmin(admin.ModelAdmin):
    """Admin page of which a list can be filtered by what it offers, and by nothing else.

    Django lets an address filter by any field of the model, so that guesses of a private text would be answered.
    """

    def lookup_allowed(self, lookup: str, value: Any, request: Any = None) -> bool:
        """Return whether the list offers the filter."""
        offered = [name if isinstance(name, str) else getattr(name, "parameter_name", "") for name in self.list_filter]
        names = (*offered, self.date_hierarchy)
        is_offered = any(name and (lookup == name or lookup.startswith(f"{name}__")) for name in names)
        return is_offered and super().lookup_allowed(lookup, value, request)


class OwnedAdmin(ClosedListAdmin):
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
