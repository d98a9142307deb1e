"""URL patterns of the pages of replies."""

from django.urls import path

from apps.replies import views

app_name = "replies"
CHAT = "chats/<uuid:chat_id>/"

urlpatterns = [
    path(f"{CHAT}replies/", views.panel, name="panel"),
    path(f"{CHAT}prompt/", views.prompt, name="prompt"),
    path("generations/<uuid:generation_id>/stop/", views.stop, name="stop"),
]
