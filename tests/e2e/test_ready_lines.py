"""The page of tokens: its lines have the new token and this installation's address, can be copied, and work."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import ApiToken, User
from tests.contract.conftest import client_of

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

TEXT = "The key is under the third stone."
PROGRAMS = ("SillyTavern", "Open WebUI", "MCP", "curl", "Python")


@pytest.fixture
def alice(transactional_db: None) -> User:
    alice = User.objects.create_user("alice@example.com")
    client_of(alice).post("/api/v1/memories/", {"text": TEXT}, format="json")
    ApiToken.objects.for_owner(alice).delete()
    return alice


@pytest.fixture(params=[True, False], ids=["with scripts", "without scripts"])
def has_scripts(request: pytest.FixtureRequest) -> bool:
    return bool(request.param)


@pytest.fixture
def tokens_page(has_scripts: bool, browser: Browser, live_server: LiveServer, alice: User) -> Iterator[Page]:
    client = Client()
    client.force_login(alice)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    context = browser.new_context(base_url=live_server.url, java_script_enabled=has_scripts)
    context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
    if has_scripts:
        context.grant_permissions(["clipboard-read", "clipboard-write"])
    page = context.new_page()
    page.goto("/settings/tokens/")
    yield page
    context.close()


def test_the_lines_work_as_they_stand_there(
    tokens_page: Page, has_scripts: bool, live_server: LiveServer, alice: User
) -> None:
    page = tokens_page
    placeholder = page.locator("#curl-1").text_content() or ""
    assert "Bearer loci_…" in placeholder
    page.get_by_label("Name", exact=True).fill("mine")
    page.get_by_role("button", name="Make a token").click()
    secret = page.locator("#secret").inner_text()
    assert secret.startswith(ApiToken.objects.for_owner(alice).get().hint)
    for name in PROGRAMS:
        page.get_by_text(name, exact=True).first.click()
    keys = ("curl-1", "python-1", "mcp-1", "mcp-2", "open-webui-3")
    lines = {key: page.locator(f"#{key}").text_content() or "" for key in keys}
    for key, line in lines.items():
        assert secret in line, key
        assert live_server.url in line, key
    for command in (["sh", "-c", lines["curl-1"]], [sys.executable, "-c", lines["python-1"]]):
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        assert TEXT in done.stdout
    copy = page.locator("[data-copy=curl-1]")
    expect(copy).to_be_visible(visible=has_scripts)
    if has_scripts:
        copy.click()
        expect(page.get_by_text("Copied.")).to_be_visible()
        assert page.evaluate("navigator.clipboard.readText()") == lines["curl-1"]
    page.goto("/settings/tokens/")
    assert secret not in page.content()
