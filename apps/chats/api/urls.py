"""URL patterns for characters, lorebooks and chats, under ``/api/v1/``."""

from django.urls import path

from apps.chats.api import branches, characters, images, lorebooks, participants, personas, views

urlpatterns = [
    path("characters/", characters.CharacterListView.as_view(), name="api-characters"),
    path("characters/<uuid:pk>/", characters.CharacterView.as_view(), name="api-character"),
    path("characters/<uuid:pk>/image/", characters.CharacterImageView.as_view(), name="api-character-image"),
    path("personas/", personas.PersonaListView.as_view(), name="api-personas"),
    path("personas/<uuid:persona_id>/", personas.PersonaView.as_view(), name="api-persona"),
    path("personas/<uuid:persona_id>/restore/", personas.PersonaRestoreView.as_view(), name="api-persona-restore"),
    path("personas/<uuid:persona_id>/avatar/", personas.PersonaAvatarView.as_view(), name="api-persona-avatar"),
    path("avatars/<uuid:avatar_id>/", personas.AvatarView.as_view(), name="api-avatar"),
    path("lorebooks/", lorebooks.LorebookListView.as_view(), name="api-lorebooks"),
    path("lorebooks/<uuid:lorebook_id>/", lorebooks.LorebookView.as_view(), name="api-lorebook"),
    path("chats/", views.ChatListView.as_view(), name="api-chats"),
    path("chats/<uuid:chat_id>/", views.ChatView.as_view(), name="api-chat"),
    path("chats/<uuid:chat_id>/restore/", views.ChatRestoreView.as_view(), name="api-chat-restore"),
    path("chats/<uuid:chat_id>/images/", images.ChatImageListView.as_view(), name="api-chat-images"),
    path("images/<uuid:image_key>/", images.ChatImageView.as_view(), name="api-image"),
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
