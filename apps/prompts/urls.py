"""URL patterns for the recall card, the repair note and the injection settings."""

from django.urls import path

from apps.prompts.views import recalls, recaps, repair, settings

app_name = "prompts"
CARD_PATH = "chats/<uuid:chat_id>/messages/<uuid:message_id>/recall/"

urlpatterns = [
    path("settings/prompt/", settings.user_settings, name="settings"),
    path("characters/<uuid:character_id>/prompt-settings/", settings.character_settings, name="character-settings"),
    path("chats/<uuid:chat_id>/prompt-settings/", settings.chat_settings, name="chat-settings"),
    path("chats/<uuid:chat_id>/prompt-settings/preview/", settings.preview, name="preview"),
    path("chats/<uuid:chat_id>/recap/", recaps.recap, name="recap"),
    path("chats/<uuid:chat_id>/recap/dismiss/", recaps.dismiss, name="recap-dismiss"),
    path("chats/<uuid:chat_id>/repair/", repair.note, name="repair"),
    path("chats/<uuid:chat_id>/repair/cancel/", repair.cancel, name="repair-cancel"),
    path(CARD_PATH, recalls.card, name="card"),
    path(f"{CARD_PATH}body/", recalls.body, name="body"),
    path(f"{CARD_PATH}edit/", recalls.edit, name="edit"),
    path(f"{CARD_PATH}size/", recalls.size, name="size"),
    path(f"{CARD_PATH}rerun/", recalls.rerun, name="rerun"),
    path(f"{CARD_PATH}delete/", recalls.delete, name="delete"),
    path(f"{CARD_PATH}restore/", recalls.restore, name="restore"),
]
