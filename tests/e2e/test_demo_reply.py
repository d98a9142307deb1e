"""The demo with a model in reach: a newcomer's first reply is three clicks away."""

from typing import Any

import pytest
from playwright.sync_api import Browser, expect

from apps.accounts.operations import ensure_user
from apps.chats.models import Chat
from apps.exchange.chats.imports import import_chats
from apps.launcher.demo import seeding
from tests.conftest import WebServer
from tests.llm.scripted_server import Reply, ScriptedServer
from tests.queues import working

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

ANSWER = "The salt road is closed until the spring."


def test_a_first_reply_takes_three_clicks(
    browser: Browser,
    web_server: WebServer,
    settings: Any,
) -> None:
    with ScriptedServer(Reply(ANSWER, pace=0.1)) as server:
        settings.DEMO_MODEL_URL, settings.DEMO_MODEL = f"{server.url}/v1", "scripted-small"
        owner = ensure_user(settings.DEMO_EMAIL, settings.DEMO_PASSWORD, name="Demo")
        title, path = next(iter(seeding.STORY_FILES.items()))
        with path.open("rb") as file:
            import_chats(owner, file, filename=path.name, title=title)
        assert seeding.connect_model(owner)
        assert not seeding.connect_model(owner)
        with working("replies"), browser.new_context(base_url=web_server.url) as context:
            page = context.new_page()
            page.goto("/accounts/login/")
            page.get_by_label("Email").fill(settings.DEMO_EMAIL)
            page.get_by_label("Password", exact=True).fill(settings.DEMO_PASSWORD)
            page.get_by_role("button", name="Sign in", exact=True).click()
            page.get_by_role("link", name=title).first.click()
            page.get_by_label("Your message").fill("Is the road open?")
            page.get_by_role("button", name="Send").click()
            expect(page.locator(".turn .prose").filter(has_text=ANSWER)).to_be_visible()
            expect(page.locator(".replies").get_by_role("button", name="Another reply")).to_be_visible()
        chat = Chat.objects.for_owner(owner).get()
        assert chat.messages.order_by("-index").first().mes == ANSWER
