"""URL patterns of the pages of snapshots, under ``/settings/snapshots/``."""

from django.urls import path

from apps.snapshots import views

app_name = "snapshots"
urlpatterns = [
    path("", views.index, name="index"),
    path("upload/", views.upload, name="upload"),
    path("<uuid:snapshot_id>/download/", views.download_snapshot, name="download"),
    path("<uuid:snapshot_id>/restore/", views.restore, name="restore"),
    path("<uuid:snapshot_id>/delete/", views.delete, name="delete"),
]
