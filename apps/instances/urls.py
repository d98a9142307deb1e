"""URL patterns of the page of instances, under ``/settings/instances/``."""

from django.urls import path

from apps.instances import views

app_name = "instances"
urlpatterns = [
    path("", views.index, name="index"),
    path("<slug:instance_id>/remove/", views.remove_instance, name="remove"),
    path("conflicts/<uuid:conflict_id>/settle/", views.settle_conflict, name="settle"),
]
