"""URL patterns of prompt previews under ``/api/v1/``."""

from django.urls import path

from apps.replies.api import views

urlpatterns = [
    path("chats/<uuid:chat_id>/prompt/preview/", views.PromptPreviewView.as_view(), name="api-prompt-preview"),
]
