"""URL patterns for connections and usage, under ``/api/v1/``."""

from django.urls import path

from apps.llm.api import views

urlpatterns = [
    path("connections/", views.ConnectionListView.as_view(), name="api-connections"),
    path("connections/<uuid:connection_id>/", views.ConnectionView.as_view(), name="api-connection"),
    path("connections/<uuid:connection_id>/test/", views.ConnectionTestView.as_view(), name="api-connection-test"),
    path("usage/", views.UsageView.as_view(), name="api-usage"),
]
