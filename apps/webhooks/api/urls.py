"""URL patterns of webhooks, under ``/api/v1/``."""

from django.urls import path

from apps.webhooks.api import views

urlpatterns = [
    path("webhooks/", views.WebhookListView.as_view(), name="api-webhooks"),
    path("webhooks/<uuid:webhook_id>/", views.WebhookView.as_view(), name="api-webhook"),
    path("webhooks/<uuid:webhook_id>/test/", views.WebhookTestView.as_view(), name="api-webhook-test"),
    path("webhooks/<uuid:webhook_id>/deliveries/", views.DeliveryListView.as_view(), name="api-webhook-deliveries"),
    path(
        "webhooks/<uuid:webhook_id>/deliveries/<uuid:delivery_id>/retry/",
        views.DeliveryRetryView.as_view(),
        name="api-webhook-delivery-retry",
    ),
]
