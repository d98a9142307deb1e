"""The graph's page in a browser: accessible, and used by keyboard."""

import re
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from tests.e2e.test_accessibility import AXE, violations_on
from tests.factories import UserFactory, make_character, make_chat
from tests.graph.test_graph import remember

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]


def test_nodes_are_reached_by_keyboard_and_lead_to_their_details(page: Page, live_server: LiveServer, db: Any) -> None:
    user, client = UserFactory(), Client()
    client.force_login(user)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
    page.add_init_script(path=AXE)
    chat = make_chat(user, "Hello.", character=make_character(user))
    for number in range(60):
        names = [f"Warden of the Northern Gate {(number + step) % 60}" for step in range(2)]
        remember(chat, f"They met in winter {number}.", names)
    path = f"/memories/chats/{chat.pk}/book/graph/"
    assert violations_on(page, path) == []
    page.goto(path)
    cut = """() => [...document.querySelectorAll(".whole-graph text:not(.crowded)")].filter((text) => {
      const [box, { width }] = [text.getBBox(), text.ownerSVGElement.viewBox.baseVal];
      return box.x < 0 || box.x + box.width > width;
    }).length"""
    assert page.locator(".whole-graph text:not(.crowded)").count() > 5
    assert page.evaluate(cut) == 0
    page.locator("svg a").first.focus()
    page.keyboard.press("Enter")
    expect(page).to_have_url(re.compile("#name-"))
    page.get_by_text("named together").first.click()
    page.get_by_role("link", name=re.compile("They met in winter")).first.click()
    expect(page).to_have_url(re.compile("/memories/"))
