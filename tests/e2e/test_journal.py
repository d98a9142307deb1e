"""The calendar of the journal in a browser: at a desk and on a phone, by keyboard."""

import datetime as dt

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.journal.entries import merge_daily, write_significant
from apps.journal.tasks import keep
from tests.factories import UserFactory, make_chat

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

HAPPENED = (
    "Mira found the silver key below the blue stone, and hid it from Captain Hale.",
    "They left Port Salt at dawn; the ferryman would not say who had paid him.",
    "Bertram repaired the violin and asked for nothing.",
    "Anna told Mira about the letter that never came.",
)


@pytest.fixture
def owner(db: None) -> User:
    owner = UserFactory()
    chats = [make_chat(owner, title="The heist"), make_chat(owner, title="A winter journey to the north of the island")]
    for number in range(14):
        write_day(owner, dt.date(2026, 11, 2) + dt.timedelta(days=number), chats)
    keep(owner, dt.datetime(2027, 1, 2, tzinfo=dt.UTC))
    write_significant(
        owner, period=dt.date(2026, 11, 11), title="The day we met", text="It rained.\n\nSo it began.", editor="me"
    )
    write_day(owner, dt.date(2026, 11, 17), chats)
    return owner


def write_day(owner: User, day: dt.date, chats: list[Chat]) -> None:
    for number, instance in enumerate(("", "phone")):
        bullets = [f"- {HAPPENED[(day.day + number + n) % 4]} [chat:{chat.pk}]" for n, chat in enumerate(chats)]
        merge_daily(owner, period=day, instance=instance, text="\n".join(bullets[: 2 - number]))


@pytest.fixture
def journal(page: Page, owner: User, live_server: LiveServer) -> Page:
    client = Client()
    client.force_login(owner)
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
    return page


def test_every_period_fits_the_window(journal: Page) -> None:
    for period in ("2026", "2026-11", "2026-W46", "2026-11-11", "2026-12"):
        journal.goto(f"/journal/?period={period}")
        expect(journal.get_by_role("heading", level=1)).to_be_visible()
        for width in (1280, 390):
            journal.set_viewport_size({"width": width, "height": 844})
            assert journal.evaluate("document.documentElement.scrollWidth <= innerWidth"), (period, width)


def test_a_day_is_reached_and_an_entry_is_written_by_keyboard(journal: Page) -> None:
    journal.goto("/journal/?period=2026-11")
    journal.get_by_role("link", name="11 November, written").focus()
    journal.keyboard.press("Enter")
    expect(journal.get_by_role("heading", level=1)).to_have_text("Wednesday, 11 November 2026")
    journal.get_by_text("Write a significant entry").focus()
    journal.keyboard.press("Enter")
    journal.get_by_label("Title").fill("A second thing")
    journal.get_by_role("textbox", name="Text").fill("It stopped raining.")
    journal.get_by_role("button", name="Write it").press("Enter")
    expect(journal.get_by_role("article", name="A second thing")).to_contain_text("It stopped raining.")
