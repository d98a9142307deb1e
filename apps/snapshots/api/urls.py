"""URL patterns of the API of snapshots, under ``/api/v1/``."""

from django.urls import path

from apps.snapshots.api import views
from apps.snapshots.api.namespaces import NamespaceExportView

urlpatterns = [
    path("namespaces/export/", NamespaceExportView.as_view(), name="api-namespace-export"),
    path("snapshots/", views.SnapshotListView.as_view(), name="api-snapshots"),
    path("snapshots/upload/", views.SnapshotUploadView.as_view(), name="api-snapshot-upload"),
    path("snapshots/<uuid:snapshot_id>/", views.SnapshotView.as_view(), name="api-snapshot"),
    path("snapshots/<uuid:snapshot_id>/download/", views.SnapshotDownloadView.as_view(), name="api-snapshot-download"),
    path("snapshots/<uuid:snapshot_id>/restore/", views.RestoreView.as_view(), name="api-snapshot-restore"),
]
