"""The pages for contributors name what exists."""

import re
from pathlib import Path

import pytest

from config.env import ROOT

ARCHITECTURE = (ROOT / "docs" / "architecture.md").read_text()
APPS = {path.parent.name for path in (ROOT / "apps").glob("*/__init__.py")}


def test_every_app_stands_in_the_table_and_the_reverse() -> None:
    assert set(re.findall(r"^\| `apps/(\w+)`", ARCHITECTURE, re.MULTILINE)) == APPS


def test_every_app_stands_in_the_drawing() -> None:
    drawing = (ROOT / "docs" / "architecture.svg").read_text()
    assert set(re.findall(r'font-weight="600"[^>]*>(\w+)<', drawing)) == APPS | {"config"}


def named_paths(text: str) -> set[str]:
    """Return the paths in backticks that begin with an app, ``apps/`` or a folder of the project."""
    starts = "|".join([*sorted(APPS), "apps", "config", "templates", "tests", "docs"])
    return {path for path in re.findall(rf"`((?:{starts})/[\w./]*)`", text) if "NAME" not in path}


@pytest.mark.parametrize("page", ["docs/architecture.md", "CONTRIBUTING.md"])
def test_every_path_exists(page: str) -> None:
    missing = [path for path in named_paths((ROOT / page).read_text()) if not _exists(path)]
    assert not missing


def _exists(path: str) -> bool:
    places = (ROOT / path, ROOT / "apps" / path)
    return any(place.exists() or Path(f"{place}.py").exists() for place in places)


def test_the_readme_links_the_pages() -> None:
    readme = (ROOT / "README.md").read_text()
    assert all(f"({page})" in readme for page in ("docs/architecture.md", "docs/glossary.md", "CONTRIBUTING.md"))
