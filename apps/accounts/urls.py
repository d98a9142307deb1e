"""URL patterns for the settings pages, under ``/settings/``."""

from django.urls import path

from apps.accounts import views

app_name = "settings"
urlpatterns = [
    path("", views.index, name="index"),
    path("closing/", views.closing, name="closing"),
    path("closing/keep/", views.keep, name="keep-account"),
    path("tokens/", views.tokens, name="tokens"),
    path("tokens/<uuid:token_id>/revoke/", views.revoke_token, name="revoke-token"),
]
