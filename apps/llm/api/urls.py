"""URL patterns for connections, calls of a model in the browser, and usage, under ``/api/v1/``."""

from django.urls import path

from apps.llm.api import browser_calls, views

urlpatterns = [
    path("connections/", views.ConnectionListView.as_view(), name="api-connections"),
    path("connections/<uuid:connection_id>/", views.ConnectionView.as_view(), name="api-connection"),
    path("connections/<uuid:connection_id>/test/", views.ConnectionTestView.as_view(), name="api-connection-test"),
    path("browser-calls/events/", browser_calls.EventsView.as_view(), name="api-browser-call-events"),
    path("browser-calls/claim/", browser_calls.ClaimView.as_view(), name="api-browser-call-claim"),
    path(
        "browser-calls/<uuid:call_id>/progress/", browser_calls.ProgressView.as_view(), name="api-browser-call-progress"
    ),
    path("browser-calls/<uuid:call_id>/reply/", browser_calls.ReplyView.as_view(), name="api-browser-call-reply"),
    path("usage/", views.UsageView.as_view(), name="api-usage"),
]
