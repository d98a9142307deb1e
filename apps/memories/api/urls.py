"""Routes of memories, below ``/api/v1/``."""

from django.urls import path

from apps.memories.api import layers, search, views

urlpatterns = [
    path("memories/", views.MemoryListView.as_view(), name="api-memories"),
    path("memories/search/", search.SearchView.as_view(), name="api-search"),
    path("memories/<uuid:memory_id>/", views.MemoryView.as_view(), name="api-memory"),
    path("chats/<uuid:chat_id>/summary/", layers.SummaryView.as_view(), name="api-summary"),
    path("chats/<uuid:chat_id>/arcs/", layers.ArcListView.as_view(), name="api-arcs"),
    path("chats/<uuid:chat_id>/arcs/<uuid:arc_id>/", layers.ArcView.as_view(), name="api-arc"),
    path("chats/<uuid:chat_id>/ledger/", layers.LedgerView.as_view(), name="api-ledger"),
    path("chats/<uuid:chat_id>/epistemic/", layers.KnowledgeListView.as_view(), name="api-epistemic"),
    path(
        "chats/<uuid:chat_id>/epistemic/<uuid:knowledge_id>/",
        layers.KnowledgeView.as_view(),
        name="api-epistemic-entry",
    ),
    path("chats/<uuid:chat_id>/relationships/", layers.RelationshipsView.as_view(), name="api-relationships"),
    path("entities/", layers.EntityListView.as_view(), name="api-entities"),
    path("entities/<uuid:entity_id>/", layers.EntityView.as_view(), name="api-entity"),
    path("entities/<uuid:entity_id>/merge/", layers.EntityMergeView.as_view(), name="api-entity-merge"),
    path("memories/merge/", views.MergeView.as_view(), name="api-memories-merge"),
    path("memories/<uuid:memory_id>/split/", views.SplitView.as_view(), name="api-memory-split"),
]
