"""URL patterns of imports and exports of memories, under ``/api/v1/``."""

from django.urls import path

from apps.exchange.api.views import MemoryFileView, MemoryImportView

urlpatterns = [
    path("chats/<uuid:chat_id>/memories/import/", MemoryImportView.as_view(), name="api-chat-memories-import"),
    path("chats/<uuid:chat_id>/memories/export/", MemoryFileView.as_view(), name="api-chat-memories-export"),
    path(
        "characters/<uuid:character_id>/memories/import/",
        MemoryImportView.as_view(),
        name="api-character-memories-import",
    ),
    path(
        "characters/<uuid:character_id>/memories/export/",
        MemoryFileView.as_view(),
        name="api-character-memories-export",
    ),
]
