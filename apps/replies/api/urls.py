"""URL patterns of prompt previews, generations and their presets under ``/api/v1/``."""

from django.urls import path

from apps.replies.api import presets, views

urlpatterns = [
    path("chats/<uuid:chat_id>/prompt/preview/", views.PromptPreviewView.as_view(), name="api-prompt-preview"),
    path("chats/<uuid:chat_id>/answer/", views.AnswerView.as_view(), name="api-answer"),
    path("chats/<uuid:chat_id>/reply/", views.ReplyView.as_view(), name="api-reply"),
    path("generation-presets/", presets.PresetListView.as_view(), name="api-generation-presets"),
    path("generation-presets/<uuid:preset_id>/", presets.PresetView.as_view(), name="api-generation-preset"),
    path("generations/<uuid:generation_id>/", views.GenerationView.as_view(), name="api-generation"),
    path("generations/<uuid:generation_id>/events/", views.GenerationEventsView.as_view(), name="api-reply-events"),
    path("generations/<uuid:generation_id>/stop/", views.StopView.as_view(), name="api-generation-stop"),
]
