"""URL patterns under ``/settings/``: memory settings, prompts, model tests and search vectors."""

from django.urls import path

from apps.extraction.views import model_pages, run_pages, setting_pages

app_name = "memory-settings"
urlpatterns = [
    path("memory/", setting_pages.user_settings, name="memory"),
    path("prompts/", model_pages.prompts, name="prompts"),
    path("prompts/<slug:task>/", model_pages.edit_prompt, name="prompt"),
    path("models/read-again/", run_pages.read_again, name="read-again"),
    path("models/test/", model_pages.model_tests, name="model-tests"),
    path("models/test/<uuid:test_id>/", model_pages.model_test, name="model-test"),
    path("models/test/<uuid:test_id>/cancel/", model_pages.cancel_model_test, name="cancel-model-test"),
    path("models/vectors/", model_pages.vectors, name="vectors"),
    path("models/vectors/start/", model_pages.start_vectors, name="start-vectors"),
    path("models/vectors/cancel/", model_pages.cancel_vectors, name="cancel-vectors"),
]
