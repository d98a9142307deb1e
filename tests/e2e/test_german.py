"""Pages in German: their longer words fit, and scripts speak the language of the page."""

import re

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from tests.factories import make_chat

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

PATHS = ("/", "/memories/", "/settings/", "/settings/memory/", "/settings/prompt/", "/settings/models/", "/journal/")


@pytest.fixture
def reader(page: Page, live_server: LiveServer) -> User:
    user = User.objects.create_user("reader@example.com", language="de")
    client = Client()
    client.force_login(user)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
    return user


def test_a_saved_chat_says_so_in_german(page: Page, reader: User, live_server: LiveServer) -> None:
    page.goto(f"{live_server.url}/chats/{make_chat(reader, 'Hello.').pk}/")
    expect(page.locator("#sync-state")).to_contain_text("Gespeichert")
    expect(page.locator("#sync-state")).not_to_have_class(re.compile("attention"))
    expect(page.locator("[data-count]")).to_have_text("1 Nachricht")


def test_no_page_is_wider_than_the_window(page: Page, reader: User, live_server: LiveServer) -> None:
    chat = make_chat(reader, "Hello.")
    wide = []
    for path in (*PATHS, f"/chats/{chat.pk}/", f"/memories/chats/{chat.pk}/book/"):
        page.goto(live_server.url + path)
        for width in (1280, 390):
            page.set_viewport_size({"width": width, "height": 844})
            if page.evaluate("document.documentElement.scrollWidth > innerWidth"):
                wide.append((path, width))
    assert wide == []
