"""Routes of incremental sync, below ``/api/v1/``."""

from django.urls import path

from apps.sync.api import views

urlpatterns = [
    path("chats/<uuid:chat_id>/append/", views.AppendView.as_view(), name="api-append"),
    path("chats/<uuid:chat_id>/patch/", views.PatchView.as_view(), name="api-patch"),
    path("chats/<uuid:chat_id>/undo/", views.UndoView.as_view(), name="api-undo"),
    path("chats/<uuid:chat_id>/changes/", views.ChangesView.as_view(), name="api-changes"),
]
