"""Admin page of the audit log."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.moderation.models import Action


@admin.register(Action)
class ActionAdmin(admin.ModelAdmin):
    """Read-only admin page of the audit log."""

    list_display = ("at", "moderator", "verb", "kind", "case", "reason")
    list_filter = ("verb", "kind")
    search_fields = ("moderator", "=user_id", "=case_id", "=target_id")
    date_hierarchy = "at"
    ordering = ("-at",)
    show_full_result_count = False
    fields = readonly_fields = (*list_display, "target_id", "user_id", "moderator_id", "case_id")

    @admin.display(description=_("case"))
    def case(self, action: Action) -> str:
        """Return a link to the case, which the moderator may open."""
        if action.case_id is None:
            return ""
        address = reverse("admin:moderation_case_change", args=[action.case_id])
        return format_html('<a href="{}">{}</a>', address, gettext("The case"))

    def has_add_permission(self, request: HttpRequest) -> bool:
        """Forbid adding: entries are written with what they record."""
        return False

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid changes, which the database refuses too."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid deletion, which the database refuses too."""
        return False
