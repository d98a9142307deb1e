"""What the admin site's pages of owned rows share."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from apps.common.scoping import system_scope


class OwnedAdmin(admin.ModelAdmin):
    """Rows of all owners, to look at: nothing is added or changed here by hand."""

    list_select_related = ("owner",)
    show_full_result_count = False

    def get_queryset(self, request: HttpRequest) -> Any:
        with system_scope():
            return super().get_queryset(request)

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
