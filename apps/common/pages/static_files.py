"""Storage class of static files, and their collection when they have changed."""

import hashlib
from pathlib import Path

from django.conf import settings
from django.contrib.staticfiles.finders import get_finders
from django.contrib.staticfiles.storage import HashedFilesMixin
from django.core.management import call_command
from whitenoise.storage import CompressedManifestStaticFilesStorage


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    """Compressed files with content hashes in their names, also in the imports of our own ES modules (`static/js`)."""

    support_js_module_import_aggregation = True
    # A module's hash changes with those of the modules it imports: one pass for each level of imports.
    max_post_process_passes = 15
    # Django's patterns match every script, and fail on packages that only bundlers resolve. They also
    # mistake types in comments, such as `import("./edits.js").Edit`, for imports, and these may be circular.
    _js_module_import_aggregation_patterns = (
        "js/*.js",
        tuple(
            pattern
            for pattern in HashedFilesMixin._js_module_import_aggregation_patterns[1]  # type: ignore[attr-defined]
            if "import\\(" not in pattern[0]
        ),
    )


def collect_if_changed() -> None:
    """Run collectstatic if a static file has changed since the last run."""
    stamp_file = Path(settings.STATIC_ROOT) / "collected-from"
    current = fingerprint()
    if not stamp_file.exists() or stamp_file.read_text() != current:
        call_command("collectstatic", interactive=False, clear=True, verbosity=0)
        stamp_file.write_text(current)


def fingerprint() -> str:
    """Return a digest of names, sizes and modification times of all source files."""
    digest = hashlib.sha256()
    for finder in get_finders():
        for name, storage in finder.list([]):
            digest.update(f"{name} {storage.size(name)} {storage.get_modified_time(name)}\n".encode())
    return digest.hexdigest()
