"""URL patterns of the pages of replies, generation presets and the author's note."""

from django.urls import path

from apps.replies.views import notes, panel, presets, prompt

app_name = "replies"
CHAT = "chats/<uuid:chat_id>/"

urlpatterns = [
    path(f"{CHAT}replies/", panel.panel, name="panel"),
    path(f"{CHAT}prompt/", prompt.prompt, name="prompt"),
    path(f"{CHAT}note/", notes.edit, name="note"),
    path("generations/<uuid:generation_id>/stop/", panel.stop, name="stop"),
    path("generations/<uuid:generation_id>/dismiss/", panel.dismiss, name="dismiss"),
    path("settings/presets/", presets.index, name="presets"),
    path("settings/presets/new/", presets.new, name="new-preset"),
    path("settings/presets/import/", presets.import_files, name="import-presets"),
    path("settings/presets/<uuid:preset_id>/", presets.edit, name="preset"),
    path("settings/presets/<uuid:preset_id>/delete/", presets.delete, name="delete-preset"),
]
