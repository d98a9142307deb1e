"""URL patterns of mem0's clients, whose host is the address of Loci with ``/mem0``."""

from django.urls import path, re_path

from apps.mem0 import views

urlpatterns = [
    path("v1/ping/", views.PingView.as_view(), name="mem0-ping"),
    path("v1/memories/", views.MemoriesView.as_view(), name="mem0-memories"),
    path("v3/memories/add/", views.AddView.as_view(), name="mem0-add"),
    path("v2/memories/", views.ListView.as_view(), name="mem0-list-v2"),
    path("v3/memories/", views.ListInPagesView.as_view(), name="mem0-list"),
    path("v1/memories/search/", views.BareSearchView.as_view(), name="mem0-search-v1"),
    path("v2/memories/search/", views.BareSearchView.as_view(), name="mem0-search-v2"),
    path("v3/memories/search/", views.Mem0SearchView.as_view(), name="mem0-search"),
    path("v1/memories/<uuid:memory_id>/", views.MemoryView.as_view(), name="mem0-memory"),
    path("v1/memories/<uuid:memory_id>/history/", views.HistoryView.as_view(), name="mem0-history"),
    path("v1/batch/", views.BatchView.as_view(), name="mem0-batch"),
    path("v1/entities/", views.EntitiesView.as_view(), name="mem0-entities"),
    path("v1/entities/<str:kind>/<path:name>/", views.EntityView.as_view(), name="mem0-entity-v1"),
    path("v2/entities/<str:kind>/<path:name>/", views.EntityView.as_view(), name="mem0-entity"),
    path("v1/event/<uuid:event_id>/", views.EventView.as_view(), name="mem0-event"),
    path("v1/events/", views.EventListView.as_view(), name="mem0-events"),
    re_path(r"^", views.UnknownView.as_view(), name="mem0-unknown"),
]
