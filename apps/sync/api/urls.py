"""URL patterns for incremental sync, relative to ``/api/v1/``."""

from django.urls import path

from apps.sync.api import clients, events, message_data, metadata, scenes, settings, views

MESSAGE_PATH = "chats/<uuid:chat_id>/messages/<uuid:message_id>/"

urlpatterns = [
    path("chats/<uuid:chat_id>/append/", views.AppendView.as_view(), name="api-append"),
    path("chats/<uuid:chat_id>/patch/", views.PatchView.as_view(), name="api-patch"),
    path("chats/<uuid:chat_id>/patch-metadata/", metadata.MetadataView.as_view(), name="api-patch-metadata"),
    path("chats/<uuid:chat_id>/undo/", views.UndoView.as_view(), name="api-undo"),
    path("chats/<uuid:chat_id>/changes/", views.ChangesView.as_view(), name="api-changes"),
    path("chats/<uuid:chat_id>/scenes/", scenes.SceneListView.as_view(), name="api-scenes"),
    path("chats/<uuid:chat_id>/scenes/<uuid:scene_id>/", scenes.SceneView.as_view(), name="api-scene"),
    path(f"{MESSAGE_PATH}data/<str:namespace>/", message_data.NamespaceView.as_view(), name="api-message-data"),
    path(f"{MESSAGE_PATH}data/<str:namespace>/<path:key>/", message_data.KeyView.as_view(), name="api-message-key"),
    path(f"{MESSAGE_PATH}recap/", message_data.RecapView.as_view(), name="api-message-recap"),
    path("clients/sillytavern/", clients.SillyTavernView.as_view(), name="api-sillytavern"),
    path("events/", events.EventsView.as_view(), name="api-events"),
    path("settings/", settings.SettingsView.as_view(), name="api-settings"),
]
