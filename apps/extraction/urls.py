"""URL patterns for pages of runs and settings under ``/memories/``, in the namespace of the memory book."""

from django.urls import path

from apps.extraction.settings.schema import CLOSING_TIERS
from apps.extraction.views import run_pages, setting_pages

urlpatterns = [
    path("chats/<uuid:chat_id>/progress/", run_pages.progress, name="progress"),
    path("chats/<uuid:chat_id>/extract/", run_pages.extract, name="extract"),
    path("runs/<uuid:run_id>/", run_pages.run_page, name="run"),
    path("runs/<uuid:run_id>/cancel/", run_pages.change, {"action": "cancel"}, name="cancel"),
    path("runs/<uuid:run_id>/pause/", run_pages.change, {"action": "pause"}, name="pause"),
    path("runs/<uuid:run_id>/skip/", run_pages.change, {"action": "skip"}, name="skip"),
    path("runs/<uuid:run_id>/dismiss/", run_pages.change, {"action": "dismiss"}, name="dismiss"),
    path("runs/<uuid:run_id>/resume/", run_pages.change, {"action": "resume"}, name="resume"),
    path("chats/<uuid:chat_id>/book/runs/", run_pages.runs, name="book-runs"),
    path("chats/<uuid:chat_id>/book/settings/", setting_pages.chat_settings, name="book-settings"),
    path("chats/<uuid:chat_id>/book/settings/mode/", setting_pages.change_mode, name="change-mode"),
    path("chats/<uuid:chat_id>/book/settings/fresh-start/", setting_pages.fresh_start, name="fresh-start"),
    path(
        "chats/<uuid:chat_id>/book/settings/fresh-start/undo/", setting_pages.undo_fresh_start, name="undo-fresh-start"
    ),
    path("characters/<uuid:character_id>/settings/", setting_pages.character_settings, name="character-settings"),
]
urlpatterns += [
    path(f"chats/<uuid:chat_id>/book/story/{tier}/make/", run_pages.start_tier, {"tier": tier}, name=f"make-{tier}")
    for tier in CLOSING_TIERS
]
