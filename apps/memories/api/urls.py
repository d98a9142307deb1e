"""Routes of memories and runs, below ``/api/v1/``."""

from django.urls import path

from apps.memories.api import search, views

urlpatterns = [
    path("memories/", views.MemoryListView.as_view(), name="api-memories"),
    path("memories/search/", search.SearchView.as_view(), name="api-search"),
    path("memories/<uuid:memory_id>/", views.MemoryView.as_view(), name="api-memory"),
    path("chats/<uuid:chat_id>/extract/", views.ExtractView.as_view(), name="api-extract"),
    path("runs/<uuid:run_id>/", views.RunView.as_view(), name="api-run"),
    path("runs/<uuid:run_id>/cancel/", views.CancelRunView.as_view(), name="api-run-cancel"),
]
