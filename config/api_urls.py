"""Routes of the API below ``/api/v1/``; each app's module has the rest of the paths."""

from django.urls import include, path

urlpatterns = [
    path("", include("apps.sync.api.urls")),
    path("", include("apps.injection.api.urls")),
    path("", include("apps.extraction.api.urls")),
    path("", include("apps.memories.api.urls")),
    path("", include("apps.chats.api.urls")),
    path("", include("apps.llm.api.urls")),
]
