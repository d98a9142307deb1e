"""URL patterns of the pages that import files, and of those that export memories, by namespace."""

from django.urls import path

from apps.exchange.views import card_uploads, chat_uploads, memory_page

IMPORT = "imports/<uuid:job_id>/"

chat_urls = [
    path("chats/import/", chat_uploads.import_files, name="import"),
    path("chats/sample/", chat_uploads.open_sample, name="sample"),
    path("imports/", chat_uploads.index, name="imports"),
    path(IMPORT, chat_uploads.detail, name="import-job"),
    path(f"{IMPORT}decide/", chat_uploads.decide, name="decide-import"),
    path(f"{IMPORT}cancel/", chat_uploads.cancel, name="cancel-import"),
]

character_urls = [
    path("characters/import/", card_uploads.import_files, name="import"),
]

memory_urls = [
    path("chats/<uuid:chat_id>/book/files/", memory_page.files, name="chat"),
    path("characters/<uuid:character_id>/book/files/", memory_page.files, name="character"),
]
