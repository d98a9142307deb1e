"""Usage and limits in the admin site. Connections are not here: their keys and addresses are their owners' alone."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse

from apps.common.admin import OwnedAdmin
from apps.common.scoping import system_scope
from apps.llm.models import TokenLimit, Usage


@admin.register(Usage)
class UsageAdmin(OwnedAdmin):
    list_display = ("day", "owner", "model", "calls", "prompt_tokens", "completion_tokens")
    list_filter = ("day",)
    search_fields = ("owner__email", "model")
    date_hierarchy = "day"
    fields = readonly_fields = list_display


@admin.register(TokenLimit)
class TokenLimitAdmin(OwnedAdmin):
    """The one table of this app that operators write."""

    list_display = ("owner", "daily_tokens", "own_daily_tokens", "updated_at")
    search_fields = ("owner__email",)
    autocomplete_fields = ("owner",)
    fields = ("owner", "daily_tokens", "own_daily_tokens")

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return request.user.has_perm("llm.add_tokenlimit")

    def changeform_view(self, *args: Any, **kwargs: Any) -> HttpResponse:
        """Whether an owner has a limit already is asked over all owners."""
        with system_scope():
            return super().changeform_view(*args, **kwargs)

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[str, ...]:
        """The owner is chosen once; what the owner wants is theirs to say."""
        return ("own_daily_tokens",) if obj is None else ("owner", "own_daily_tokens")
