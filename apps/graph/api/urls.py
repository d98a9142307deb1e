"""URL patterns of the graph's API, under ``/api/v1/``."""

from django.urls import path

from apps.graph.api.views import GraphView

urlpatterns = [path("graph/", GraphView.as_view(), name="api-graph")]
