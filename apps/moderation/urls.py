"""URL patterns of the page about moderation, under ``/settings/moderation/``."""

from django.urls import path

from apps.moderation import views

app_name = "moderation"
urlpatterns = [
    path("", views.index, name="index"),
    path("notices/<uuid:notice_id>/answer/", views.answer, name="answer"),
]
