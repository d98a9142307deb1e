"""Pages on which the tests of the scripts run."""

import pytest
from playwright.sync_api import Page, Route

from config.env import ROOT
from tests.short_waits import WAITS

SCRIPT_TESTS = ROOT / "tests" / "js"
EXTENSION = "clients/sillytavern/"


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have what a test runs in its own process wait no longer than the web server."""
    for path, value in WAITS.items():
        monkeypatch.setattr(path, value)


@pytest.fixture
def page_with_tests(page: Page) -> Page:
    """A page of the site, on which the tests' modules can be had as if they were its own."""
    page.route("**/tests/js/*.mjs", _serve)
    page.route(f"**/{EXTENSION}**", _serve_extension)
    page.goto("/accounts/login/")
    return page


def _serve(route: Route) -> None:
    module = SCRIPT_TESTS / route.request.url.rsplit("/", 1)[-1]
    route.fulfill(body=module.read_text(), content_type="text/javascript")


def _serve_extension(route: Route) -> None:
    name = route.request.url.partition(EXTENSION)[2]
    route.fulfill(body=(ROOT / EXTENSION / name).read_text(), content_type="text/javascript")
