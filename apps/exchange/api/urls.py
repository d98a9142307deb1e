"""URL patterns of imports and exports, under ``/api/v1/``."""

from django.urls import path

from apps.exchange.api.background_imports import ImportJobCancelView, ImportJobListView, ImportJobView
from apps.exchange.api.card_files import (
    CharacterExportView,
    CharacterImportView,
    LorebookExportView,
    LorebookImportView,
)
from apps.exchange.api.chat_files import ChatExportView, ChatImportView
from apps.exchange.api.memory_files import MemoryFileView, MemoryImportView

CHAT = "chats/<uuid:chat_id>/"
CHARACTER = "characters/<uuid:character_id>/"

urlpatterns = [
    path("chats/import/", ChatImportView.as_view(), name="api-chat-import"),
    path(f"{CHAT}export/", ChatExportView.as_view(), name="api-chat-export"),
    path("imports/", ImportJobListView.as_view(), name="api-imports"),
    path("imports/<uuid:job_id>/", ImportJobView.as_view(), name="api-import"),
    path("imports/<uuid:job_id>/cancel/", ImportJobCancelView.as_view(), name="api-import-cancel"),
    path("characters/import/", CharacterImportView.as_view(), name="api-character-import"),
    path("characters/<uuid:pk>/export/", CharacterExportView.as_view(), name="api-character-export"),
    path("lorebooks/import/", LorebookImportView.as_view(), name="api-lorebook-import"),
    path("lorebooks/<uuid:lorebook_id>/export/", LorebookExportView.as_view(), name="api-lorebook-export"),
    path(f"{CHAT}memories/import/", MemoryImportView.as_view(), name="api-chat-memories-import"),
    path(f"{CHAT}memories/export/", MemoryFileView.as_view(), name="api-chat-memories-export"),
    path(f"{CHARACTER}memories/import/", MemoryImportView.as_view(), name="api-character-memories-import"),
    path(f"{CHARACTER}memories/export/", MemoryFileView.as_view(), name="api-character-memories-export"),
]
