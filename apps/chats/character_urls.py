"""Routes of the pages of characters and lorebooks."""

from django.urls import path

from apps.chats.views import characters, lorebooks

app_name = "characters"
CHARACTER = "characters/<uuid:character_id>/"
LOREBOOK = "lorebooks/<uuid:lorebook_id>/"

urlpatterns = [
    path("characters/", characters.index, name="index"),
    path("characters/new/", characters.new, name="new"),
    path("characters/import/", characters.import_files, name="import"),
    path(CHARACTER, characters.detail, name="detail"),
    path(f"{CHARACTER}edit/", characters.edit, name="edit"),
    path(f"{CHARACTER}delete/", characters.delete, name="delete"),
    path(f"{CHARACTER}start/", characters.start, name="start"),
    path(LOREBOOK, lorebooks.detail, name="lorebook"),
    path(f"{LOREBOOK}delete/", lorebooks.delete, name="lorebook-delete"),
]
