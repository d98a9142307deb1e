"""URL patterns of the pages that report something."""

from django.urls import path

from apps.moderation import views

app_name = "reports"
urlpatterns = [
    path("chats/<uuid:chat_id>/messages/<uuid:message_id>/report/", views.report_message, name="message"),
    path("characters/<uuid:character_id>/report/", views.report_character, name="character"),
    path("memories/<uuid:memory_id>/report/", views.report_memory, name="memory"),
]
