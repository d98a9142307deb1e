"""A day of a moderator in a real browser: report, queue, look, decision, answer, audit log, and what the user sees."""

from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.moderation.roles import MODERATORS
from tests.factories import make_chat
from tests.moderation.conftest import make_staff

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

TEXT = "I shall tell nobody."
Open = Callable[[User], Page]


@pytest.fixture
def chat(transactional_db: None) -> Chat:
    return make_chat(User.objects.create_user("alice@example.com", name="Alice"), "Where is it?", TEXT, "I see.")


@pytest.fixture
def open_as(browser: Browser, live_server: LiveServer) -> Iterator[Open]:
    """A function that returns a page of a user's own browser. Errors of scripts, or of the policy, fail the test."""
    errors: list[str] = []

    def open_as(user: User) -> Page:
        client = Client()
        client.force_login(user)
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        context = browser.new_context(base_url=live_server.url)
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
        page = context.new_page()
        page.on("console", lambda said: errors.append(f"{said.location} {said.text}") if said.type == "error" else None)
        return page

    yield open_as
    assert errors == []


def test_a_day_of_a_moderator(chat: Chat, open_as: Open) -> None:
    alice, moderator = open_as(chat.owner), open_as(make_staff("mod@example.com", MODERATORS))

    alice.goto(f"/chats/{chat.pk}/")
    message = alice.locator("li", has_text=TEXT).last
    message.hover()
    message.get_by_label("More").first.click()
    message.get_by_role("link", name="Report …").click()
    alice.get_by_label("What is wrong with it?").select_option("harassment")
    alice.get_by_label("Note").fill("It is about me.")
    alice.get_by_role("button", name="Report").click()
    expect(alice.get_by_text("Thank you.")).to_be_visible()

    moderator.goto("/")
    moderator.get_by_label("Account", exact=True).click()
    moderator.get_by_role("link", name="Moderators' desk").click()
    expect(moderator.locator(".desk-cases li")).to_have_count(1)
    expect(moderator.get_by_text("It is about me.")).to_be_visible()
    expect(moderator.get_by_text(TEXT)).to_have_count(0)
    moderator.get_by_role("button", name="Claim").last.click()
    expect(moderator.get_by_role("button", name="Release").last).to_be_visible()
    moderator.get_by_role("button", name="Read it").click()
    expect(moderator.get_by_text(TEXT)).to_be_visible()
    moderator.locator("input[name=decision][value=hide]").check()
    moderator.get_by_label("Reason", exact=True).fill("It is against rule 3.")
    moderator.get_by_role("button", name="Decide").click()
    expect(moderator.get_by_text("Done.")).to_be_visible()

    alice.goto(f"/chats/{chat.pk}/")
    alice.get_by_role("link", name="Why, and your answer").click()
    expect(alice.get_by_text("It is against rule 3.")).to_be_visible()
    expect(alice.get_by_text("A moderator opened a message of yours")).to_be_visible()
    alice.get_by_label("Your answer").fill("It is a quotation.")
    alice.get_by_role("button", name="Answer").click()
    expect(alice.get_by_text("Your answer was sent.")).to_be_visible()

    moderator.goto("/admin/moderation/case/")
    expect(moderator.get_by_text("It is a quotation.")).to_be_visible()
    moderator.get_by_label("Reason, which the owner reads").fill("So it is. Sorry.")
    moderator.get_by_role("button", name="Take the decision back").click()
    expect(moderator.get_by_text("Done.")).to_be_visible()
    moderator.goto("/admin/moderation/action/")
    for number, verb in enumerate(("reverse hide", "hide", "look", "claim")):
        expect(moderator.locator("#result_list tbody tr").nth(number)).to_contain_text(verb)

    alice.reload()
    expect(alice.get_by_text("So it is. Sorry.")).to_be_visible()
    alice.goto(f"/chats/{chat.pk}/")
    expect(alice.get_by_text(TEXT)).to_be_visible()
    expect(alice.get_by_text("Moderators have hidden this")).to_have_count(0)
