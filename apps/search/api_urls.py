"""The URL pattern of the search, under ``/api/v1/``."""

from django.urls import path

from apps.search.api import SearchView

urlpatterns = [path("memories/search/", SearchView.as_view(), name="api-search")]
