"""URL patterns of the page of a memory book that shows its graph, under ``/memories/``."""

from django.urls import path

from apps.graph import views

app_name = "graph"
urlpatterns = [
    path("chats/<uuid:chat_id>/book/graph/", views.graph, name="chat"),
    path("characters/<uuid:character_id>/book/graph/", views.graph, name="character"),
]
