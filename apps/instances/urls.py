"""URL patterns of the page of instances, under ``/settings/instances/``."""

from django.urls import path

from apps.instances import views

app_name = "instances"
urlpatterns = [
    path("", views.index, name="index"),
    path("conflicts/<uuid:conflict_id>/settle/", views.settle_conflict, name="settle"),
]
