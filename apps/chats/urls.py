"""Routes of the chat pages."""

from django.urls import path

from apps.chats.views import conversation, importing, people, scenes, shelf, tools

app_name = "chats"
CHAT = "chats/<uuid:chat_id>/"
MESSAGE = f"{CHAT}messages/<uuid:message_id>/"

urlpatterns = [
    path("", shelf.index, name="index"),
    path("chats/new/", shelf.new, name="new"),
    path("chats/import/", importing.import_files, name="import"),
    path("imports/", importing.index, name="imports"),
    path("imports/<uuid:job_id>/", importing.detail, name="import-job"),
    path("imports/<uuid:job_id>/cancel/", importing.cancel, name="cancel-import"),
    path("chats/sample/", importing.open_sample, name="sample"),
    path(CHAT, conversation.detail, name="detail"),
    path(f"{CHAT}window/", conversation.window, name="window"),
    path(f"{CHAT}turns/", conversation.turns, name="turns"),
    path(f"{CHAT}write/", conversation.write, name="write"),
    path(f"{CHAT}rename/", shelf.rename, name="rename"),
    path(f"{CHAT}delete/", shelf.delete, name="delete"),
    path(f"{CHAT}activity/", shelf.activity, name="activity"),
    path(f"{CHAT}undo/", tools.undo, name="undo"),
    path(f"{CHAT}scenes/", scenes.index, name="scenes"),
    path(f"{CHAT}scenes/<uuid:scene_id>/", scenes.edit, name="scene"),
    path(f"{CHAT}people/", people.index, name="people"),
    path(f"{CHAT}people/<uuid:participant_id>/", people.change, name="participant"),
    path(MESSAGE, conversation.message, name="message"),
    path(f"{MESSAGE}edit/", conversation.edit, name="edit"),
    path(f"{MESSAGE}tools/", tools.index, name="tools"),
    path(f"{MESSAGE}swipe/", tools.swipe, name="swipe"),
    path(f"{MESSAGE}version/", tools.version, name="version"),
    path(f"{MESSAGE}hide/", tools.hide, name="hide"),
    path(f"{MESSAGE}remove/", tools.remove, name="remove"),
    path(f"{MESSAGE}move/", tools.move, name="move"),
    path(f"{MESSAGE}insert/", tools.insert, name="insert"),
    path(f"{MESSAGE}branch/", tools.branch, name="branch"),
    path(f"{MESSAGE}scene/", tools.scene, name="end-scene"),
]
