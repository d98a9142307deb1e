"""The URL pattern of the search page, under ``/memories/`` and in the namespace of the memory book."""

from django.urls import path

from apps.search.views import search_everything

urlpatterns = [path("search/", search_everything, name="search")]
