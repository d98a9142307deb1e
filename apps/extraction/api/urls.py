"""URL patterns for runs, settings, prompts, model tests and embedding jobs under ``/api/v1/``."""

from django.urls import path

from apps.extraction.api import run_views, setting_views
from apps.extraction.api.model_views import EmbeddingJobViewSet, ModelTestViewSet, PromptViewSet

urlpatterns = [
    path("chats/<uuid:chat_id>/extract/", run_views.ExtractView.as_view(), name="api-extract"),
    path("chats/<uuid:chat_id>/profiles/", run_views.ProfilesRunView.as_view(), name="api-profiles"),
    path("chats/<uuid:chat_id>/canon/", run_views.CanonRunView.as_view(), name="api-canon"),
    path("chats/<uuid:chat_id>/continuity/", run_views.ContinuityRunView.as_view(), name="api-continuity"),
    path("memory-settings/", setting_views.MemorySettingsView.as_view(), name="api-memory-settings"),
    path(
        "characters/<uuid:character_id>/memory-settings/",
        setting_views.CharacterSettingsView.as_view(),
        name="api-character-memory-settings",
    ),
    path(
        "chats/<uuid:chat_id>/memory-settings/",
        setting_views.ChatSettingsView.as_view(),
        name="api-chat-memory-settings",
    ),
    path("chats/<uuid:chat_id>/memory-mode/", setting_views.ModeView.as_view(), name="api-memory-mode"),
    path("chats/<uuid:chat_id>/fresh-start/", setting_views.FreshStartView.as_view(), name="api-fresh-start"),
    path("chats/<uuid:chat_id>/memory-export/", run_views.MemoryExportView.as_view(), name="api-memory-export"),
    path("prompts/", PromptViewSet.as_view({"get": "list"}), name="api-prompts"),
    path(
        "prompts/<slug:task>/",
        PromptViewSet.as_view({"get": "retrieve", "put": "update", "delete": "destroy"}),
        name="api-prompt-template",
    ),
    path("model-tests/", ModelTestViewSet.as_view({"get": "list", "post": "create"}), name="api-model-tests"),
    path("model-tests/<uuid:test_id>/", ModelTestViewSet.as_view({"get": "retrieve"}), name="api-model-test"),
    path(
        "model-tests/<uuid:test_id>/cancel/", ModelTestViewSet.as_view({"post": "cancel"}), name="api-model-test-cancel"
    ),
    path("reembedding/", EmbeddingJobViewSet.as_view({"get": "retrieve", "post": "create"}), name="api-reembedding"),
    path("reembedding/cancel/", EmbeddingJobViewSet.as_view({"post": "cancel"}), name="api-reembedding-cancel"),
    path("runs/", run_views.RunViewSet.as_view({"get": "list"}), name="api-runs"),
    path("runs/<uuid:run_id>/", run_views.RunViewSet.as_view({"get": "retrieve"}), name="api-run"),
    path("runs/<uuid:run_id>/steps/", run_views.RunViewSet.as_view({"get": "steps"}), name="api-run-steps"),
    path("runs/<uuid:run_id>/calls/", run_views.RunViewSet.as_view({"get": "calls"}), name="api-run-calls"),
]
urlpatterns += [
    path(f"runs/<uuid:run_id>/{action}/", run_views.RunViewSet.as_view({"post": action}), name=f"api-run-{action}")
    for action in ("pause", "resume", "cancel", "skip")
]
