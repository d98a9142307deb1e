"""Scripts speak the language of the page."""

import re

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from tests.factories import make_chat

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


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
