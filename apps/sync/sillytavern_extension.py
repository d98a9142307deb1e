"""SillyTavern's extension, as a ZIP file that knows the address of this Loci."""

import io
import json
import zipfile
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.views.decorators.http import require_safe

SOURCE = Path(settings.ROOT) / "clients" / "sillytavern"
FOLDER = "loci"  # as it is called among SillyTavern's extensions
ADDRESS = "server.js"
SERVED = {".js", ".css", ".json", ".md"}


def extension_version() -> str:
    """Return the version of the extension that this Loci serves."""
    manifest = json.loads((SOURCE / "manifest.json").read_text())
    return str(manifest["version"])


def extension_archive(address: str) -> bytes:
    """Return the extension as a ZIP file. ``address`` is what it connects to at first."""
    archive = io.BytesIO()
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as file:
        for path in _files(SOURCE):
            name = path.relative_to(SOURCE).as_posix()
            content = _address_module(address) if name == ADDRESS else path.read_text()
            file.writestr(f"{FOLDER}/{name}", content)
    return archive.getvalue()


def _files(folder: Path) -> Iterator[Path]:
    """Yield the files of the extension: the sync client's modules are links to those that our own pages use."""
    for path in sorted(folder.iterdir()):
        if path.is_dir():
            yield from _files(path)
        elif path.suffix in SERVED:
            yield path


def _address_module(address: str) -> str:
    return f"/** The Loci that this was downloaded from. */\nexport const SERVER = {json.dumps(address)};\n"


@login_required
@require_safe
def download(request: HttpRequest) -> HttpResponse:
    """Return the extension as a file."""
    content = extension_archive(f"{request.scheme}://{request.get_host()}")
    headers = {"Content-Disposition": 'attachment; filename="loci-sillytavern.zip"', "Cache-Control": "no-store"}
    return HttpResponse(content, content_type="application/zip", headers=headers)
