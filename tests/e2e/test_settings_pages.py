"""Settings in a browser: short pages, a search as one types, and groups that open for what is found."""

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.extraction.prompts.task import TASKS
from tests.contract.test_owner_scope import things_of_alice
from tests.e2e.test_accessibility import DESK, paths_of

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

OF_SETTINGS = ("/settings/", "/personas/", "/accounts/2fa/", "/accounts/sessions/", "/accounts/password/")
SCREENS = 2


def is_of_settings(path: str) -> bool:
    return path.startswith(OF_SETTINGS) or "settings/" in path


def enter(page: Page, client: Client, live_server: LiveServer) -> None:
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])


def test_no_page_of_settings_is_longer_than_two_screens(page: Page, live_server: LiveServer) -> None:
    client, ids = Client(), things_of_alice()
    client.force_login(ids["user"])
    enter(page, client, live_server)
    page.set_viewport_size(DESK)
    heights = {}
    for path in filter(is_of_settings, paths_of({"task": next(iter(TASKS)), **ids})):
        reply = client.get(path)  # some routes answer with no page
        if reply.status_code == 200 and not reply.streaming and b"</html>" in reply.content:
            page.goto(live_server.url + path)
            heights[path] = page.evaluate("document.documentElement.scrollHeight")
    assert len(heights) >= 20
    assert {path: height for path, height in heights.items() if height > SCREENS * DESK["height"]} == {}


@pytest.fixture
def signed_in(page: Page, live_server: LiveServer) -> Page:
    client = Client()
    client.force_login(User.objects.create_user("alice@example.com"))
    enter(page, client, live_server)
    return page


def test_a_setting_is_found_as_one_types_and_its_group_opens(signed_in: Page, live_server: LiveServer) -> None:
    signed_in.goto(f"{live_server.url}/settings/")
    signed_in.get_by_role("searchbox", name="Find a setting").press_sequentially("shortest scene")
    signed_in.get_by_role("link", name="Shortest scene").click()
    expect(signed_in.get_by_label("Shortest scene")).to_be_in_viewport()


def test_a_long_form_keeps_only_what_has_the_words(signed_in: Page, live_server: LiveServer) -> None:
    signed_in.goto(f"{live_server.url}/settings/prompt/")
    field = signed_in.get_by_role("searchbox", name="Find a setting")
    field.press_sequentially("ledger depth")
    expect(signed_in.locator(".setting:visible")).to_have_count(1)
    expect(signed_in.locator("#id_state_ledger_depth")).to_be_visible()
    field.fill("")
    expect(signed_in.locator("#id_state_ledger_depth")).to_be_hidden()
    expect(signed_in.get_by_label("Room for memory")).to_be_visible()
