"""URL patterns for runs, settings, prompts, model tests and embedding jobs under ``/api/v1/``."""

from django.urls import path

from apps.extraction.api import exports, runs, settings
from apps.extraction.api.embedding_jobs import EmbeddingJobViewSet
from apps.extraction.api.model_tests import ModelTestViewSet
from apps.extraction.api.prompts import PromptViewSet

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
    path("chats/<uuid:chat_id>/memory-settings/", settings.ChatSettingsView.as_view(), name="api-chat-memory-settings"),
    path("chats/<uuid:chat_id>/memory-mode/", settings.ModeView.as_view(), name="api-memory-mode"),
    path("chats/<uuid:chat_id>/fresh-start/", settings.FreshStartView.as_view(), name="api-fresh-start"),
    path("chats/<uuid:chat_id>/memory-export/", exports.MemoryExportView.as_view(), name="api-memory-export"),
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
    path("runs/", runs.RunViewSet.as_view({"get": "list"}), name="api-runs"),
    path("runs/<uuid:run_id>/", runs.RunViewSet.as_view({"get": "retrieve"}), name="api-run"),
    path("runs/<uuid:run_id>/steps/", runs.RunViewSet.as_view({"get": "steps"}), name="api-run-steps"),
    path("runs/<uuid:run_id>/calls/", runs.RunViewSet.as_view({"get": "calls"}), name="api-run-calls"),
]
urlpatterns += [
    path(f"runs/<uuid:run_id>/{action}/", runs.RunViewSet.as_view({"post": action}), name=f"api-run-{action}")
    for action in ("pause", "resume", "cancel", "skip")
]
