"""URL patterns of the API, under ``/api/v1/``."""

from django.urls import include, path

urlpatterns = [
    # First, since programs send these most, and patterns are tried in their order.
    path("", include("apps.sync.api.urls")),
    path("", include("apps.snapshots.api.urls")),
    path("", include("apps.moderation.api.urls")),
    path("", include("apps.webhooks.api.urls")),
    path("", include("apps.instances.api.urls")),
    path("", include("apps.replies.api.urls")),
    path("", include("apps.exchange.api.urls")),
    path("", include("apps.graph.api.urls")),
    path("", include("apps.prompts.api.urls")),
    path("", include("apps.journal.api.urls")),
    path("", include("apps.extraction.api.urls")),
    path("", include("apps.search.api_urls")),
    path("", include("apps.memories.api.urls")),
    path("", include("apps.chats.api.urls")),
    path("", include("apps.llm.api.urls")),
]
