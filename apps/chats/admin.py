"""Show chats and their changes in the admin site: counts and dates, but nothing that users wrote."""

from django.contrib import admin
from django.http import HttpRequest

from apps.chats.models import Chat, ChatChange
from apps.common.admin import OwnedAdmin


@admin.register(Chat)
class ChatAdmin(OwnedAdmin):
    list_display = ("id", "owner", "message_count", "rev", "last_active", "created_at")
    search_fields = ("=id", "owner__email")
    date_hierarchy = "created_at"
    fields = readonly_fields = (
        "id",
        "owner",
        "integrity",
        "rev",
        "message_count",
        "last_active",
        "created_at",
        "updated_at",
    )

    def has_change_permission(self, request: HttpRequest, obj: Chat | None = None) -> bool:
        return False


@admin.register(ChatChange)
class ChatChangeAdmin(OwnedAdmin):
    list_display = ("chat_id", "owner", "rev", "kind", "forced", "at")
    list_filter = ("kind", "forced")
    search_fields = ("=chat__id", "owner__email")
    fields = readonly_fields = (
        "chat_id",
        "owner",
        "rev",
        "integrity",
        "kind",
        "forced",
        "at",
        "message_ids",
        "deleted_ids",
    )

    def has_change_permission(self, request: HttpRequest, obj: ChatChange | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ChatChange | None = None) -> bool:
        return False
