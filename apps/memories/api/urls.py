"""URL patterns for the memories API, under ``/api/v1/``."""

from typing import Any

from django.urls import path

from apps.memories.api import layers
from apps.memories.api.entities import EntityViewSet
from apps.memories.api.namespaces import NamespaceListView
from apps.memories.api.questions import QuestionViewSet
from apps.memories.api.tombstones import TombstonesView
from apps.memories.api.views import MemoryViewSet

LIST_ACTIONS: dict[str, Any] = {"get": "list", "post": "create"}
MEMORY_ACTIONS: dict[str, Any] = {"get": "retrieve", "patch": "partial_update", "delete": "destroy"}
CHANGE_ACTIONS: dict[str, Any] = {"patch": "partial_update", "delete": "destroy"}

urlpatterns = [
    path("namespaces/", NamespaceListView.as_view(), name="api-namespaces"),
    path("memories/", MemoryViewSet.as_view(LIST_ACTIONS), name="api-memories"),
    path("memories/tombstones/", TombstonesView.as_view(), name="api-memory-tombstones"),
    path("memories/merge/", MemoryViewSet.as_view({"post": "merge"}), name="api-memories-merge"),
    path("memories/batch/", MemoryViewSet.as_view({"post": "batch"}), name="api-memories-batch"),
    path("memories/questions/", QuestionViewSet.as_view({"get": "list"}), name="api-questions"),
    path(
        "memories/questions/<uuid:question_id>/settle/",
        QuestionViewSet.as_view({"post": "settle"}),
        name="api-question-settle",
    ),
    path(
        "memories/questions/<uuid:question_id>/reopen/",
        QuestionViewSet.as_view({"post": "reopen"}),
        name="api-question-reopen",
    ),
    path("memories/<uuid:memory_id>/", MemoryViewSet.as_view(MEMORY_ACTIONS), name="api-memory"),
    path("memories/<uuid:memory_id>/history/", MemoryViewSet.as_view({"get": "history"}), name="api-memory-history"),
    path("memories/<uuid:memory_id>/split/", MemoryViewSet.as_view({"post": "split"}), name="api-memory-split"),
    path("chats/<uuid:chat_id>/summary/", layers.SummaryView.as_view(), name="api-summary"),
    path("chats/<uuid:chat_id>/arcs/", layers.ArcViewSet.as_view(LIST_ACTIONS), name="api-arcs"),
    path("chats/<uuid:chat_id>/arcs/<uuid:arc_id>/", layers.ArcViewSet.as_view(CHANGE_ACTIONS), name="api-arc"),
    path("chats/<uuid:chat_id>/ledger/", layers.LedgerView.as_view(), name="api-ledger"),
    path("chats/<uuid:chat_id>/epistemic/", layers.KnowledgeViewSet.as_view(LIST_ACTIONS), name="api-epistemic"),
    path(
        "chats/<uuid:chat_id>/epistemic/<uuid:knowledge_id>/",
        layers.KnowledgeViewSet.as_view(CHANGE_ACTIONS),
        name="api-epistemic-entry",
    ),
    path("chats/<uuid:chat_id>/relationships/", layers.RelationshipsView.as_view(), name="api-relationships"),
    path("entities/", EntityViewSet.as_view({"get": "list"}), name="api-entities"),
    path(
        "entities/<uuid:entity_id>/",
        EntityViewSet.as_view({"get": "retrieve", "patch": "partial_update"}),
        name="api-entity",
    ),
    path("entities/<uuid:entity_id>/merge/", EntityViewSet.as_view({"post": "merge"}), name="api-entity-merge"),
    path("entities/<uuid:entity_id>/unmerge/", EntityViewSet.as_view({"post": "unmerge"}), name="api-entity-unmerge"),
    path("entities/<uuid:entity_id>/split/", EntityViewSet.as_view({"post": "split"}), name="api-entity-split"),
]
