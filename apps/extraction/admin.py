"""Register extraction runs in the admin site, read-only and without the text of memories, which is private."""

from django.contrib import admin
from django.http import HttpRequest

from apps.common.admin import OwnedAdmin
from apps.extraction.models import ExtractionRun


@admin.register(ExtractionRun)
class ExtractionRunAdmin(OwnedAdmin):
    list_display = ("id", "owner", "chat_id", "state", "stage", "done", "total", "created_at", "finished_at")
    list_filter = ("state", "stage")
    search_fields = ("=id", "=chat__id", "owner__email")
    fields = readonly_fields = (
        *("id", "owner", "chat_id", "state", "stage", "done", "total", "counts", "llm", "error"),
        *("heartbeat_at", "created_at", "started_at", "finished_at"),
    )

    def has_change_permission(self, request: HttpRequest, obj: ExtractionRun | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: ExtractionRun | None = None) -> bool:
        return False
