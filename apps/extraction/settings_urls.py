"""Routes of the memory pages below ``/settings/``: memory, prompts, tests of models, vectors."""

from django.urls import path

from apps.extraction.views import embedding_jobs as reembedding
from apps.extraction.views import model_tests, prompts, settings

app_name = "memory-settings"
urlpatterns = [
    path("memory/", settings.of_user, name="memory"),
    path("prompts/", prompts.index, name="prompts"),
    path("prompts/<slug:task>/", prompts.edit, name="prompt"),
    path("models/test/", model_tests.index, name="model-tests"),
    path("models/test/<uuid:test_id>/", model_tests.detail, name="model-test"),
    path("models/test/<uuid:test_id>/cancel/", model_tests.cancel, name="cancel-model-test"),
    path("models/vectors/", reembedding.index, name="vectors"),
    path("models/vectors/start/", reembedding.start, name="start-vectors"),
    path("models/vectors/cancel/", reembedding.cancel, name="cancel-vectors"),
]
