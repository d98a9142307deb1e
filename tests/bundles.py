"""The files that every page loads, joined as in service: dozens of modules would be dozens of requests a page."""

from pathlib import Path

from django.contrib.staticfiles.finders import find

from apps.common.pages.static_files import BUNDLES


def write_bundles(folder: Path) -> None:
    """Write the bundles into a folder, for STATICFILES_DIRS to begin with."""
    for name, bundled in BUNDLES.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(bundled(name, lambda source: Path(str(find(source))).read_text()))
