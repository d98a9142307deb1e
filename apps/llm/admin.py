"""Admin pages of usage and limits. Connections have none: their keys and addresses are private to their owners."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse

from apps.common.admin import OwnedAdmin
from apps.common.scoping import system_scope
from apps.llm.models import TokenLimit, Usage


@admin.register(Usage)
class UsageAdmin(OwnedAdmin):
    """Read-only list of usage."""

    list_display = ("day", "owner", "model", "calls", "prompt_tokens", "completion_tokens")
    list_filter = ("day",)
    search_fields = ("owner__email", "model")
    date_hierarchy = "day"
    fields = readonly_fields = list_display


@admin.register(TokenLimit)
class TokenLimitAdmin(OwnedAdmin):
    """Editor of the operator's limits."""

    list_display = ("owner", "daily_tokens", "own_daily_tokens", "updated_at")
    search_fields = ("owner__email",)
    autocomplete_fields = ("owner",)
    fields = ("owner", "daily_tokens", "own_daily_tokens")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Return whether the user may add limits; pages of other owned rows never allow adding."""
        return request.user.has_perm("llm.add_tokenlimit")

    def changeform_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        """Serve the form. Its uniqueness check queries the rows of all owners."""
        with system_scope():
            return super().changeform_view(*args, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """Return the fields that operators can't change: the user's own limit, and the owner once it is set."""
        return ("own_daily_tokens",) if obj is None else ("owner", "own_daily_tokens")
