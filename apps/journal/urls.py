"""URL patterns of the journal's pages."""

from django.urls import path

from apps.journal import views

app_name = "journal"

urlpatterns = [
    path("", views.index, name="index"),
    path("consolidate/", views.consolidate, name="consolidate"),
    path("entries/<uuid:journal_id>/edit/", views.edit, name="edit"),
    path("entries/<uuid:journal_id>/delete/", views.delete, name="delete"),
    path("entries/<uuid:journal_id>/restore/", views.restore, name="restore"),
]
