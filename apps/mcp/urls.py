"""URL patterns of OAuth. ``/mcp`` itself is no Django view: see ``mount``."""

from django.urls import include, path

from apps.mcp.oauth import metadata, registration, views

oauth = [
    path("authorize", views.authorize, name="authorize"),
    path("token", views.token, name="token"),
    path("revoke", views.revoke, name="revoke"),
    path("register", registration.register, name="register"),
]
urlpatterns = [
    path("oauth/", include((oauth, "oauth"))),
    path(".well-known/oauth-protected-resource", metadata.protected_resource),
    path(".well-known/oauth-protected-resource/mcp", metadata.protected_resource),
    path(".well-known/oauth-authorization-server", metadata.authorization_server),
]
