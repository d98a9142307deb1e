"""URL patterns for pages of runs and settings under ``/memories/``, in the namespace of the memory book."""

from django.urls import path

from apps.extraction.settings.schema import CLOSING_TIERS
from apps.extraction.views import runs, settings

urlpatterns = [
    path("chats/<uuid:chat_id>/progress/", runs.progress, name="progress"),
    path("chats/<uuid:chat_id>/extract/", runs.extract, name="extract"),
    path("runs/<uuid:run_id>/", runs.detail, name="run"),
    path("runs/<uuid:run_id>/cancel/", runs.change, {"action": "cancel"}, name="cancel"),
    path("runs/<uuid:run_id>/pause/", runs.change, {"action": "pause"}, name="pause"),
    path("runs/<uuid:run_id>/skip/", runs.change, {"action": "skip"}, name="skip"),
    path("runs/<uuid:run_id>/dismiss/", runs.change, {"action": "dismiss"}, name="dismiss"),
    path("runs/<uuid:run_id>/resume/", runs.change, {"action": "resume"}, name="resume"),
    path("chats/<uuid:chat_id>/book/runs/", runs.index, name="book-runs"),
    path("chats/<uuid:chat_id>/book/settings/", settings.chat_settings, name="book-settings"),
    path("chats/<uuid:chat_id>/book/settings/mode/", settings.change_mode, name="change-mode"),
    path("chats/<uuid:chat_id>/book/settings/fresh-start/", settings.fresh_start, name="fresh-start"),
    path("chats/<uuid:chat_id>/book/settings/fresh-start/undo/", settings.undo_fresh_start, name="undo-fresh-start"),
    path("characters/<uuid:character_id>/settings/", settings.character_settings, name="character-settings"),
]
urlpatterns += [
    path(f"chats/<uuid:chat_id>/book/story/{tier}/make/", runs.start_tier, {"tier": tier}, name=f"make-{tier}")
    for tier in CLOSING_TIERS
]
