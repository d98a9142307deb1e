"""URL patterns of the sync between instances, under ``/api/v1/``."""

from django.urls import path

from apps.instances.api import exchange, instances

urlpatterns = [
    path("instances/", instances.InstanceViewSet.as_view({"get": "list", "post": "create"}), name="api-instances"),
    path(
        "instances/<slug:instance_id>/",
        instances.InstanceViewSet.as_view({"patch": "partial_update", "delete": "destroy"}),
        name="api-instance",
    ),
    path("identity/", instances.FileListView.as_view({"get": "list"}), name="api-identity"),
    path("identity/<slug:category>/<str:filename>/", instances.FileView.as_view(), name="api-identity-file"),
    path("sync/pull/", exchange.PullView.as_view(), name="api-sync-pull"),
    path("sync/push/", exchange.PushView.as_view(), name="api-sync-push"),
    path("sync/status/", exchange.StatusView.as_view(), name="api-sync-status"),
    path("conflicts/", instances.ConflictViewSet.as_view({"get": "list"}), name="api-conflicts"),
    path(
        "conflicts/<uuid:conflict_id>/settle/",
        instances.ConflictViewSet.as_view({"post": "settle"}),
        name="api-conflict-settle",
    ),
]
