"""Templates say nothing that was meant for who reads them."""

import re

import pytest

from config.env import ROOT

TEMPLATES = sorted((ROOT / "templates").rglob("*.html"))


@pytest.mark.parametrize("path", TEMPLATES, ids=lambda path: str(path.relative_to(ROOT / "templates")))
def test_no_comment_goes_over_a_line_since_pages_would_show_it(path):
    assert re.findall(r"\{#(?:(?!#\})[^\n])*$", path.read_text(encoding="utf-8"), re.M) == []
