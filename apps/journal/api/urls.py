"""URL patterns of the journal's API, under ``/api/v1/``."""

from typing import Any

from django.urls import path

from apps.journal.api.views import JournalViewSet

ENTRY_ACTIONS: dict[str, Any] = {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}

urlpatterns = [
    path("journal/", JournalViewSet.as_view({"get": "list", "post": "create"}), name="api-journal"),
    path("journal/consolidate/", JournalViewSet.as_view({"post": "consolidate"}), name="api-journal-consolidate"),
    path("journal/<uuid:journal_id>/", JournalViewSet.as_view(ENTRY_ACTIONS), name="api-journal-entry"),
]
