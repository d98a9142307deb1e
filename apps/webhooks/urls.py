"""URL patterns of the pages of webhooks, under ``/settings/webhooks/``."""

from django.urls import path

from apps.webhooks import views

app_name = "webhooks"
urlpatterns = [
    path("", views.index, name="index"),
    path("<uuid:webhook_id>/", views.detail, name="detail"),
    path("<uuid:webhook_id>/delete/", views.delete, name="delete"),
    path("<uuid:webhook_id>/test/", views.test, name="test"),
    path("<uuid:webhook_id>/deliveries/<uuid:delivery_id>/retry/", views.retry, name="retry"),
]
