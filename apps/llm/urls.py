"""URL patterns for the settings page “Models”, under ``/settings/models/``."""

from django.urls import path

from apps.llm import views
from apps.llm.browser.views import browser_model

app_name = "llm"
urlpatterns = [
    path("", views.index, name="index"),
    path("add/", views.add, name="add"),
    path("offered/", views.offered, name="offered"),
    path("browser/", browser_model, name="browser"),
    path("limit/", views.limit, name="limit"),
    path("<uuid:connection_id>/", views.edit, name="edit"),
    path("<uuid:connection_id>/offered/", views.offered, name="offered-by"),
    path("<uuid:connection_id>/use/", views.use, name="use"),
    path("<uuid:connection_id>/test/", views.test, name="test"),
    path("<uuid:connection_id>/delete/", views.delete, name="delete"),
]
