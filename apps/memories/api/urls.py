"""Routes of memories, below ``/api/v1/``."""

from django.urls import path

from apps.memories.api import search

urlpatterns = [
    path("memories/search/", search.SearchView.as_view(), name="api-search"),
]
