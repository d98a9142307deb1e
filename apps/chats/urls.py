"""Routes of the chat pages."""

from django.urls import path

from apps.chats.views import conversation, importing, shelf

app_name = "chats"
CHAT = "chats/<uuid:chat_id>/"
MESSAGE = f"{CHAT}messages/<uuid:message_id>/"

urlpatterns = [
    path("", shelf.index, name="index"),
    path("chats/new/", shelf.new, name="new"),
    path("chats/import/", importing.import_files, name="import"),
    path("chats/sample/", importing.open_sample, name="sample"),
    path(CHAT, conversation.detail, name="detail"),
    path(f"{CHAT}window/", conversation.window, name="window"),
    path(f"{CHAT}write/", conversation.write, name="write"),
    path(f"{CHAT}rename/", shelf.rename, name="rename"),
    path(f"{CHAT}delete/", shelf.delete, name="delete"),
    path(f"{CHAT}activity/", shelf.activity, name="activity"),
    path(MESSAGE, conversation.message, name="message"),
    path(f"{MESSAGE}edit/", conversation.edit, name="edit"),
]
