"""Routes of characters and chats, below ``/api/v1/``."""

from django.urls import path

from apps.chats.api import branches, exports, imports, participants, views

urlpatterns = [
    path("characters/", views.CharacterListView.as_view(), name="api-characters"),
    path("characters/<uuid:pk>/", views.CharacterView.as_view(), name="api-character"),
    path("chats/", views.ChatListView.as_view(), name="api-chats"),
    path("chats/import/", imports.ChatImportView.as_view(), name="api-chat-import"),
    path("chats/<uuid:chat_id>/", views.ChatView.as_view(), name="api-chat"),
    path("chats/<uuid:chat_id>/export/", exports.ChatExportView.as_view(), name="api-chat-export"),
    path("chats/<uuid:chat_id>/branch/", branches.BranchView.as_view(), name="api-branch"),
    path("chats/<uuid:chat_id>/participants/", participants.ParticipantListView.as_view(), name="api-participants"),
    path(
        "chats/<uuid:chat_id>/participants/<uuid:participant_id>/",
        participants.ParticipantView.as_view(),
        name="api-participant",
    ),
    path("chats/<uuid:chat_id>/rounds/", participants.RoundView.as_view(), name="api-rounds"),
    path("chats/<uuid:chat_id>/messages/", views.MessageWindowView.as_view(), name="api-messages"),
]
