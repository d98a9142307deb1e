"""Send the archive of a snapshot."""

from django.http import FileResponse
from django.utils.translation import gettext

from apps.common.problems import Conflict, Missing
from apps.exchange.filenames import safe_filename
from apps.snapshots.models import Snapshot


def download(snapshot: Snapshot) -> FileResponse:
    """Return a response with the archive. Raise Conflict if it isn't complete, Missing if its file is gone."""
    if snapshot.state != Snapshot.State.SUCCEEDED:
        raise Conflict(gettext("This snapshot is not complete, so that it can't be downloaded."))
    name = safe_filename(f"Loci {snapshot.title or snapshot.get_kind_display()} {snapshot.taken_at:%Y-%m-%d %H-%M}")
    try:
        file = snapshot.file.open("rb")
    except FileNotFoundError as error:
        raise Missing(gettext("The file of the snapshot is missing.")) from error
    response = FileResponse(file, as_attachment=True, filename=f"{name}.zip", content_type="application/zip")
    response.headers["X-Content-Type-Options"] = "nosniff"
    return response
