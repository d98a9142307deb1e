"""URL patterns for the pages of chats, characters, personas and lorebooks, by namespace."""

from django.urls import path

from apps.chats.views import (
    changes,
    characters,
    chat_list,
    conversation,
    lorebooks,
    models,
    new_chat,
    organizing,
    participants,
    personas,
    scenes,
    tools,
)

CHAT = "chats/<uuid:chat_id>/"
MESSAGE = f"{CHAT}messages/<uuid:message_id>/"
CHARACTER = "characters/<uuid:character_id>/"
PERSONA = "personas/<uuid:persona_id>/"
LOREBOOK = "lorebooks/<uuid:lorebook_id>/"

chat_urls = [
    path("", chat_list.index, name="index"),
    path("welcome/end/", chat_list.end_welcome, name="end-welcome"),
    path("chats/new/", new_chat.new, name="new"),
    path("chats/organize/undo/<uuid:undo_id>/", organizing.undo, name="undo-organize"),
    path("chats/organize/<str:action>/", organizing.organize, name="organize"),
    path("chats/deleted/", chat_list.deleted, name="deleted"),
    path(CHAT, conversation.detail, name="detail"),
    path(f"{CHAT}window/", conversation.window, name="window"),
    path(f"{CHAT}turns/", conversation.turns, name="turns"),
    path(f"{CHAT}write/", conversation.write, name="write"),
    path(f"{CHAT}model/", models.choose, name="model"),
    path(f"{CHAT}rename/", chat_list.rename, name="rename"),
    path(f"{CHAT}delete/", chat_list.delete, name="delete"),
    path(f"{CHAT}restore/", chat_list.restore, name="restore"),
    path(f"{CHAT}purge/", chat_list.purge, name="purge"),
    path(f"{CHAT}activity/", chat_list.activity, name="activity"),
    path(f"{CHAT}changes/", changes.index, name="changes"),
    path(f"{CHAT}changes/<int:rev>/", changes.detail, name="change"),
    path(f"{CHAT}undo/", tools.undo, name="undo"),
    path(f"{CHAT}undo/<int:rev>/", tools.undo, name="undo-change"),
    path(f"{CHAT}scenes/", scenes.index, name="scenes"),
    path(f"{CHAT}scenes/<uuid:scene_id>/", scenes.edit, name="scene"),
    path(f"{CHAT}people/", participants.index, name="people"),
    path(f"{CHAT}people/<uuid:participant_id>/", participants.change, name="participant"),
    path(MESSAGE, conversation.message, name="message"),
    path(f"{MESSAGE}edit/", conversation.edit, name="edit"),
    path(f"{MESSAGE}tools/", tools.index, name="tools"),
    path(f"{MESSAGE}swipe/", tools.swipe, name="swipe"),
    path(f"{MESSAGE}version/", tools.version, name="version"),
    path(f"{MESSAGE}hide/", tools.hide, name="hide"),
    path(f"{MESSAGE}leave-out/", tools.leave_out, name="leave-out"),
    path(f"{MESSAGE}remove/", tools.remove, name="remove"),
    path(f"{MESSAGE}move/", tools.move, name="move"),
    path(f"{MESSAGE}insert/", tools.insert, name="insert"),
    path(f"{MESSAGE}branch/", tools.branch, name="branch"),
    path(f"{MESSAGE}scene/", tools.scene, name="end-scene"),
]

character_urls = [
    path("characters/", characters.index, name="index"),
    path("characters/new/", characters.new, name="new"),
    path(CHARACTER, characters.detail, name="detail"),
    path(f"{CHARACTER}edit/", characters.edit, name="edit"),
    path(f"{CHARACTER}delete/", characters.delete, name="delete"),
    path(f"{CHARACTER}merge/", characters.merge, name="merge"),
    path(f"{CHARACTER}favourite/", new_chat.favourite, name="favourite"),
    path(f"{CHARACTER}start/", characters.start, name="start"),
    path(LOREBOOK, lorebooks.detail, name="lorebook"),
    path(f"{LOREBOOK}delete/", lorebooks.delete, name="lorebook-delete"),
]

persona_urls = [
    path("personas/", personas.index, name="index"),
    path("personas/new/", personas.new, name="new"),
    path("personas/introduce/", personas.introduce, name="introduce"),
    path(PERSONA, personas.edit, name="edit"),
    path(f"{PERSONA}delete/", personas.delete, name="delete"),
    path(f"{PERSONA}restore/", personas.restore, name="restore"),
]
