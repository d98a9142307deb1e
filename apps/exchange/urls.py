"""URL patterns of the page that imports and exports memories, under ``/memories/``."""

from django.urls import path

from apps.exchange import views

app_name = "exchange"
urlpatterns = [
    path("chats/<uuid:chat_id>/book/files/", views.files, name="chat"),
    path("characters/<uuid:character_id>/book/files/", views.files, name="character"),
]
