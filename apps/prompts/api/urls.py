"""URL patterns for prompts and recalls under ``/api/v1/``."""

from django.urls import path

from apps.prompts.api import recaps, repair, settings, views

RECALL_PATH = "chats/<uuid:chat_id>/messages/<uuid:message_id>/recall/"

urlpatterns = [
    path("chats/<uuid:chat_id>/prompt/", views.PromptView.as_view(), name="api-prompt"),
    path("chats/<uuid:chat_id>/repair/", repair.RepairView.as_view(), name="api-repair"),
    path("chats/<uuid:chat_id>/recalls/", views.RecallListView.as_view(), name="api-recalls"),
    path("chats/<uuid:chat_id>/recap/", recaps.AwayRecapView.as_view(), name="api-recap"),
    path("chats/<uuid:chat_id>/recap/dismiss/", recaps.AwayRecapDismissView.as_view(), name="api-recap-dismiss"),
    path(RECALL_PATH, views.RecallView.as_view(), name="api-recall"),
    path("injection-settings/", settings.InjectionSettingsView.as_view(), name="api-injection-settings"),
    path(
        "characters/<uuid:character_id>/injection-settings/",
        settings.CharacterInjectionSettingsView.as_view(),
        name="api-character-injection-settings",
    ),
    path(
        "chats/<uuid:chat_id>/injection-settings/",
        settings.ChatInjectionSettingsView.as_view(),
        name="api-chat-injection-settings",
    ),
    path(f"{RECALL_PATH}rerun/", views.RecallRerunView.as_view(), name="api-recall-rerun"),
]
