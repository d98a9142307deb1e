"""URL patterns for the recall card."""

from django.urls import path

from apps.injection import views

app_name = "injection"
CARD_PATH = "chats/<uuid:chat_id>/messages/<uuid:message_id>/recall/"

urlpatterns = [
    path(CARD_PATH, views.card, name="card"),
    path(f"{CARD_PATH}edit/", views.edit, name="edit"),
    path(f"{CARD_PATH}rerun/", views.rerun, name="rerun"),
    path(f"{CARD_PATH}delete/", views.delete, name="delete"),
    path(f"{CARD_PATH}restore/", views.restore, name="restore"),
]
