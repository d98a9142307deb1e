"""Routes of runs, settings, prompts, model tests and embedding jobs, below ``/api/v1/``."""

from django.urls import path

from apps.extraction.api import embedding_jobs, exports, model_tests, prompts, runs, settings

urlpatterns = [
    path("chats/<uuid:chat_id>/extract/", runs.ExtractView.as_view(), name="api-extract"),
    path("chats/<uuid:chat_id>/profiles/", runs.ProfilesView.as_view(), name="api-profiles"),
    path("chats/<uuid:chat_id>/canon/", runs.CanonView.as_view(), name="api-canon"),
    path("chats/<uuid:chat_id>/continuity/", runs.ContinuityView.as_view(), name="api-continuity"),
    path("memory-settings/", settings.MemorySettingsView.as_view(), name="api-memory-settings"),
    path(
        "characters/<uuid:character_id>/memory-settings/",
        settings.CharacterSettingsView.as_view(),
        name="api-character-memory-settings",
    ),
    path(
        "chats/<uuid:chat_id>/memory-settings/",
        settings.ChatSettingsView.as_view(),
        name="api-chat-memory-settings",
    ),
    path("chats/<uuid:chat_id>/memory-mode/", settings.ModeView.as_view(), name="api-memory-mode"),
    path("chats/<uuid:chat_id>/fresh-start/", settings.FreshStartView.as_view(), name="api-fresh-start"),
    path("chats/<uuid:chat_id>/memory-export/", exports.MemoryExportView.as_view(), name="api-memory-export"),
    path("prompts/", prompts.PromptListView.as_view(), name="api-prompts"),
    path("prompts/<slug:task>/", prompts.PromptView.as_view(), name="api-prompt"),
    path("model-tests/", model_tests.ModelTestListView.as_view(), name="api-model-tests"),
    path("model-tests/<uuid:test_id>/", model_tests.ModelTestView.as_view(), name="api-model-test"),
    path("model-tests/<uuid:test_id>/cancel/", model_tests.CancelView.as_view(), name="api-model-test-cancel"),
    path("reembedding/", embedding_jobs.ReembeddingView.as_view(), name="api-reembedding"),
    path("reembedding/cancel/", embedding_jobs.CancelView.as_view(), name="api-reembedding-cancel"),
    path("runs/", runs.RunListView.as_view(), name="api-runs"),
    path("runs/<uuid:run_id>/calls/", runs.RunCallsView.as_view(), name="api-run-calls"),
    path("runs/<uuid:run_id>/pause/", runs.PauseRunView.as_view(), name="api-run-pause"),
    path("runs/<uuid:run_id>/resume/", runs.ResumeRunView.as_view(), name="api-run-resume"),
    path("runs/<uuid:run_id>/", runs.RunView.as_view(), name="api-run"),
    path("runs/<uuid:run_id>/cancel/", runs.CancelRunView.as_view(), name="api-run-cancel"),
]
