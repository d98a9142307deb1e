"""URL patterns for generation presets and the author's note."""

from django.urls import path

from apps.replies.views import notes, presets

app_name = "replies"

urlpatterns = [
    path("settings/presets/", presets.index, name="presets"),
    path("settings/presets/new/", presets.new, name="new-preset"),
    path("settings/presets/<uuid:preset_id>/", presets.edit, name="preset"),
    path("settings/presets/<uuid:preset_id>/delete/", presets.delete, name="delete-preset"),
    path("chats/<uuid:chat_id>/note/", notes.edit, name="note"),
]
