"""URL patterns of the proxy, at the root: clients append them to their base URL, which ends in ``/v1``."""

from django.urls import path, re_path

from apps.proxy import views

urlpatterns = [
    path("v1/chat/completions", views.chat_completions, name="proxy-chat-completions"),
    path("v1/models", views.models, name="proxy-models"),
    re_path(r"^v1/", views.unknown, name="proxy-unknown"),
]
