"""Routes of memories and runs, below ``/api/v1/``."""

from django.urls import path

from apps.memories.api import configuring, exports, layers, model_tests, prompts, reembedding, search, views

urlpatterns = [
    path("memories/", views.MemoryListView.as_view(), name="api-memories"),
    path("memories/search/", search.SearchView.as_view(), name="api-search"),
    path("memories/<uuid:memory_id>/", views.MemoryView.as_view(), name="api-memory"),
    path("chats/<uuid:chat_id>/extract/", views.ExtractView.as_view(), name="api-extract"),
    path("chats/<uuid:chat_id>/summary/", layers.SummaryView.as_view(), name="api-summary"),
    path("chats/<uuid:chat_id>/profiles/", layers.ProfilesView.as_view(), name="api-profiles"),
    path("chats/<uuid:chat_id>/canon/", layers.CanonView.as_view(), name="api-canon"),
    path("chats/<uuid:chat_id>/continuity/", layers.ContinuityView.as_view(), name="api-continuity"),
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
    path("memory-settings/", configuring.MemorySettingsView.as_view(), name="api-memory-settings"),
    path(
        "characters/<uuid:character_id>/memory-settings/",
        configuring.CharacterSettingsView.as_view(),
        name="api-character-memory-settings",
    ),
    path(
        "chats/<uuid:chat_id>/memory-settings/",
        configuring.ChatSettingsView.as_view(),
        name="api-chat-memory-settings",
    ),
    path("chats/<uuid:chat_id>/memory-mode/", configuring.ModeView.as_view(), name="api-memory-mode"),
    path("chats/<uuid:chat_id>/fresh-start/", configuring.FreshStartView.as_view(), name="api-fresh-start"),
    path("chats/<uuid:chat_id>/memory-export/", exports.MemoryExportView.as_view(), name="api-memory-export"),
    path("prompts/", prompts.PromptListView.as_view(), name="api-prompts"),
    path("prompts/<slug:task>/", prompts.PromptView.as_view(), name="api-prompt"),
    path("model-tests/", model_tests.ModelTestListView.as_view(), name="api-model-tests"),
    path("model-tests/<uuid:test_id>/", model_tests.ModelTestView.as_view(), name="api-model-test"),
    path("model-tests/<uuid:test_id>/cancel/", model_tests.CancelView.as_view(), name="api-model-test-cancel"),
    path("reembedding/", reembedding.ReembeddingView.as_view(), name="api-reembedding"),
    path("reembedding/cancel/", reembedding.CancelView.as_view(), name="api-reembedding-cancel"),
    path("runs/", views.RunListView.as_view(), name="api-runs"),
    path("runs/<uuid:run_id>/calls/", views.RunCallsView.as_view(), name="api-run-calls"),
    path("runs/<uuid:run_id>/pause/", views.PauseRunView.as_view(), name="api-run-pause"),
    path("runs/<uuid:run_id>/resume/", views.ResumeRunView.as_view(), name="api-run-resume"),
    path("runs/<uuid:run_id>/", views.RunView.as_view(), name="api-run"),
    path("runs/<uuid:run_id>/cancel/", views.CancelRunView.as_view(), name="api-run-cancel"),
]
