"""Routes of the memories pages, below ``/memories/``."""

from django.urls import path

from apps.memories import views

app_name = "memories"
urlpatterns = [
    path("", views.index, name="index"),
    path("search/", views.search_everything, name="search"),
    path("<uuid:memory_id>/", views.detail, name="detail"),
    path("<uuid:memory_id>/edit/", views.edit, name="edit"),
    path("<uuid:memory_id>/delete/", views.delete, name="delete"),
    path("<uuid:memory_id>/restore/", views.restore, name="restore"),
    path("<uuid:memory_id>/pin/", views.toggle, {"mark": "pinned"}, name="pin"),
    path("<uuid:memory_id>/hide/", views.toggle, {"mark": "hidden"}, name="hide"),
    path("chats/<uuid:chat_id>/rail/", views.rail, name="rail"),
    path("chats/<uuid:chat_id>/progress/", views.progress, name="progress"),
    path("chats/<uuid:chat_id>/extract/", views.extract, name="extract"),
    path("runs/<uuid:run_id>/cancel/", views.cancel, name="cancel"),
]
