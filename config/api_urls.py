"""The API's routes below `/api/v1/`; each app names its own paths in full."""

from django.urls import include, path

urlpatterns = [
    path("", include("apps.sync.api.urls")),
    path("", include("apps.injection.api.urls")),
    path("", include("apps.extraction.api.urls")),
    path("", include("apps.memories.api.urls")),
    path("", include("apps.chats.api.urls")),
    path("", include("apps.llm.api.urls")),
]
