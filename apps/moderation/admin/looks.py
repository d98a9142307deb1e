"""Admin pages of looks: open a chat with a reason, read what a look is about, and the list of all looks."""

from typing import Any
from uuid import UUID

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.template.response import TemplateResponse
from django.urls import path
from django.utils import timezone

from apps.common.admin import OwnedAdmin
from apps.moderation.content import content_of
from apps.moderation.forms import ChatLookForm
from apps.moderation.models import Look
from apps.moderation.operations.looks import live_look, look_at_chat


@admin.register(Look)
class LookAdmin(OwnedAdmin):
    """Admin page of looks. Adding one opens a chat that no case is about."""

    list_display = ("created_at", "moderator", "owner", "kind", "target_id", "expires_at", "reason")
    list_select_related = ("owner", "moderator")
    list_filter = ("kind",)
    search_fields = ("owner__email", "moderator__email", "=target_id", "=chat_id")
    date_hierarchy = "created_at"
    ordering = ("-created_at",)
    readonly_fields = (*list_display, "chat_id", "case")
    form = ChatLookForm

    def get_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return the fields of a look, or those of the form that opens a chat."""
        return self.readonly_fields if obj else ("chat_id", "reason")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> Any:
        """Return all fields of a look."""
        return self.readonly_fields if obj else ()

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Allow who may look at chats to open one."""
        return request.user.has_perm("moderation.look_at_chat")

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid changes."""
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        """Forbid deletion: users see who looked."""
        return False

    def save_model(self, request: Any, obj: Any, form: Any, change: bool) -> None:
        """Open the chat."""
        look = look_at_chat(request.user, obj.chat_id, obj.reason)
        obj.pk, obj.owner_id = look.pk, look.owner_id

    def log_addition(self, request: HttpRequest, obj: Any, message: Any) -> Any:
        """Do nothing: the look has an entry in the audit log."""

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: Any = None) -> HttpResponse:
        """Show the chat."""
        return redirect("admin:moderation_look_content", look_id=obj.pk)

    def get_urls(self) -> list[Any]:
        """Add the page that shows what a look is about."""
        view = self.admin_site.admin_view(self.content)
        return [path("<uuid:look_id>/content/", view, name="moderation_look_content"), *super().get_urls()]

    def content(self, request: Any, look_id: UUID) -> HttpResponse:
        """Show what a look is about while it lasts, then leave the page."""
        look = live_look(request.user, look_id)
        context = self.admin_site.each_context(request) | {
            "title": "Private content",
            "opts": self.opts,
            "look": look,
            "content": content_of(look, request.GET.get("page")),
        }
        response = TemplateResponse(request, "admin/moderation/look/content.html", context)
        left = int((look.expires_at - timezone.now()).total_seconds()) + 1
        response["Refresh"] = str(max(left, 1))  # seconds; the page is refused then
        return response
