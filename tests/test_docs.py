"""The pages for contributors name what exists."""

import re
import tomllib
from pathlib import Path

import pytest

from apps.llm.api.serializers import PURPOSES, ConnectionUpdateSerializer
from apps.llm.presets import PRESETS
from config.env import ROOT
from config.settings_page import page as settings_page

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


def test_every_name_stands_in_the_module_that_the_page_gives() -> None:
    named = re.findall(r"`(?:\w+\.)?(\w+)` of\s+`([\w/]+\.py)`", ARCHITECTURE)
    assert len(named) > 30
    assert not [(name, path) for name, path in named if not _is_defined(name, path)]


def _is_defined(name: str, path: str) -> bool:
    modules = [module for folder in ("", "apps") if (module := ROOT / folder / path).exists()]
    # A row may name the file alone after it has named its folder.
    texts = [module.read_text() for module in modules or (ROOT / "apps").rglob(path)]
    return any(re.search(rf"^\s*(?:(?:async )?def|class) {name}\b|^\s*{name}\b\s*[:=]", text, re.M) for text in texts)


def test_the_readme_has_the_layers_in_order() -> None:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]["contracts"]
    layers = [name.removeprefix("apps.") for name in contracts[0]["layers"] if name != "config"]
    (drawn,) = re.findall(r"`(launcher → [^`]*)`", (ROOT / "README.md").read_text())
    assert re.split(r"\s*→\s*", drawn) == layers


def test_settings_of_every_preset_stand_in_the_page_of_models() -> None:
    page = (ROOT / "docs" / "models.md").read_text()
    rows = dict(re.findall(r"^\| ([\w. -]+) \| (?:Ollama|OpenAI-compatible) \| `(\S+)` \|", page, re.MULTILINE))
    assert rows == {preset.name: preset.base_url for preset in PRESETS}
    assert all(
        re.search(rf"^## .*{re.escape(name)}|^- .*\*\*{re.escape(name)}\*\*", page, re.MULTILINE) for name in rows
    )


def test_every_setting_of_a_call_stands_in_the_page_of_models() -> None:
    page = (ROOT / "docs" / "models.md").read_text()
    described = set(re.findall(r"`(\w+)`", " ".join(re.findall(r"^\| (`[^|]*) \|", page, re.MULTILINE))))
    elsewhere = {"name", "backend", "base_url", "api_key", "model", "embedding_model", *PURPOSES}
    assert described == set(ConnectionUpdateSerializer().fields) - elsewhere


def test_the_page_of_settings_is_what_is_declared() -> None:
    assert (ROOT / "docs" / "settings.md").read_text() == settings_page(), "run `make docs`"


def test_what_the_page_for_users_names_is_on_pages() -> None:
    text = " ".join((ROOT / "docs" / "using.md").read_text().split())
    labels = {part for label in re.findall(r"(?<![*\w])\*([^*]+)\*", text) for part in label.split(" → ")} - {
        "Settings"
    }
    templates = " ".join(path.read_text() for path in (ROOT / "templates").rglob("*.html"))
    shown = " ".join(re.sub(r"\s+", " ", templates).split())
    assert len(labels) > 25
    ends = r"[>\"}}]\s*{}\s*[<{{\"]"
    assert not {label for label in labels if not re.search(ends.format(re.escape(label)), shown)}


def test_the_readme_links_the_pages() -> None:
    readme = (ROOT / "README.md").read_text()
    pages = ("docs/using.md", "docs/architecture.md", "docs/glossary.md", "docs/models.md", "CONTRIBUTING.md")
    assert all(f"({page})" in readme for page in pages)
