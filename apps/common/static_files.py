"""How static files are named and compressed when they are collected, and when that is due."""

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import HashedFilesMixin
from django.core.management import call_command
from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    """Names with content hashes, inside the imports of our own ES modules (`static/js`) too."""

    support_js_module_import_aggregation = True
    # A module's name changes with those of the modules it imports: as many passes as imports are deep.
    max_post_process_passes = 15
    # Django would do so for every script, and fail on packages that bundlers are meant to resolve. And it takes
    # the types in comments, `import("./edits.js").Edit`, for imports, which may go round in circles.
    _js_module_import_aggregation_patterns = (
        "js/*.js",
        tuple(
            pattern
            for pattern in HashedFilesMixin._js_module_import_aggregation_patterns[1]  # type: ignore[attr-defined]
            if "import\\(" not in pattern[0]
        ),
    )


def collect_if_changed() -> None:
    """Run collectstatic if any static file differs from those collected last."""
    stamp = Path(settings.STATIC_ROOT) / "collected-from"
    current = fingerprint()
    if not stamp.exists() or stamp.read_text() != current:
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)
        stamp.write_text(current)


def fingerprint() -> str:
    """A digest of the names, sizes and times of all static files, before they are collected."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list([]):
            digest.update(f"{name} {storage.size(name)} {storage.get_modified_time(name)}\n".encode())
    return digest.hexdigest()
