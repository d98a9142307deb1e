"""URL patterns for the recall card."""

from django.urls import path

from apps.injection import views

app_name = "injection"
CARD = "chats/<uuid:chat_id>/messages/<uuid:message_id>/recall/"

urlpatterns = [
    path(CARD, views.card, name="card"),
    path(f"{CARD}edit/", views.edit, name="edit"),
    path(f"{CARD}rerun/", views.rerun, name="rerun"),
    path(f"{CARD}delete/", views.delete, name="delete"),
    path(f"{CARD}restore/", views.restore, name="restore"),
]
