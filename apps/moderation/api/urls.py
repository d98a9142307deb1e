"""URL patterns of moderation's API, under ``/api/v1/``."""

from django.urls import path

from apps.moderation.api import views

urlpatterns = [
    path("reports/", views.ReportListView.as_view(), name="api-reports"),
    path("notices/", views.NoticeListView.as_view(), name="api-notices"),
    path("notices/<uuid:notice_id>/answer/", views.AnswerView.as_view(), name="api-answer"),
    path("looks/", views.LookListView.as_view(), name="api-looks"),
]
