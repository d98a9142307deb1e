"""URL patterns under ``/settings/``: memory settings, prompts, model tests and search vectors."""

from django.urls import path

from apps.extraction.views import embedding_jobs, model_tests, prompts, rereading, settings

app_name = "memory-settings"
urlpatterns = [
    path("memory/", settings.user_settings, name="memory"),
    path("prompts/", prompts.index, name="prompts"),
    path("prompts/<slug:task>/", prompts.edit, name="prompt"),
    path("models/read-again/", rereading.index, name="read-again"),
    path("models/test/", model_tests.index, name="model-tests"),
    path("models/test/<uuid:test_id>/", model_tests.detail, name="model-test"),
    path("models/test/<uuid:test_id>/cancel/", model_tests.cancel, name="cancel-model-test"),
    path("models/vectors/", embedding_jobs.index, name="vectors"),
    path("models/vectors/start/", embedding_jobs.start, name="start-vectors"),
    path("models/vectors/cancel/", embedding_jobs.cancel, name="cancel-vectors"),
]
