"""The journal's pages: each period, its entries, the forms, all without JavaScript."""

import datetime as dt
from typing import Any

import pytest
from django.test import Client
from django.utils import translation
from hypothesis import given
from hypothesis import strategies as st

from apps.accounts.models import User
from apps.chats.operations import delete_chat, purge_chat
from apps.extraction.models import EmbeddingJob
from apps.journal.calendar import at_each_level, neighbours, period_named, title_of, weekdays_of, weeks_of
from apps.journal.entries import edit_entry, merge_daily
from apps.journal.tasks import keep
from apps.llm.backends import selection
from apps.memories.journal.periods import month_of
from apps.memories.models import JournalEntry
from tests.factories import UserFactory, make_chat

NOW = dt.datetime(2031, 1, 1, 12, tzinfo=dt.UTC)
DAYS = st.dates(dt.date(3, 1, 1), dt.date(9997, 12, 1))


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


@pytest.fixture
def page(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client


def test_each_period_has_a_page_with_what_happened_and_where(owner: User, page: Client) -> None:
    chat = make_chat(owner, title="The heist")
    text = f"- Ana rang <b>. [chat:{chat.pk}]\n- Bo came. [chat:elsewhere]"
    merge_daily(owner, period=dt.date(2026, 11, 17), instance="desk", text=text)
    keep(owner, NOW)
    for period in ("2026", "2026-11", "2026-W47", "2026-11-17"):
        html = page.get(f"/journal/?period={period}").content.decode()
        assert "Ana rang &lt;b&gt;." in html
        assert f'href="/chats/{chat.pk}/">The heist</a>' in html
        assert "November, written" in html


def test_a_deleted_chat_is_named_while_it_is_in_the_bin_and_leaves_the_journal_for_good(
    owner: User, page: Client
) -> None:
    day, heist, tea = dt.date(2026, 11, 17), make_chat(owner, title="The heist"), make_chat(owner, title="Tea")
    text = f"- Ana\n  rang. [chat:{heist.pk}]\n\nA note.\n- Tom slept. [chat:{tea.pk}]"
    merge_daily(owner, period=day, instance="", text=text)
    merge_daily(owner, period=day, instance="desk", text=f"- Bo came. [chat:{heist.pk}] [via:desk]")
    edited, _ = merge_daily(owner, period=dt.date(2026, 11, 18), instance="", text=f"- Cy left. [chat:{heist.pk}]")
    edit_entry(edited, editor="a", text=f"- Cy left us. [chat:{heist.pk}]")
    keep(owner, NOW)

    def shown(period: str) -> str:
        return page.get(f"/journal/?period={period}").content.decode()

    delete_chat(heist)
    html = shown("2026-11-17")
    assert "The heist, in the bin</a>" in html
    assert f"/chats/{heist.pk}/" not in html
    purge_chat(owner, heist.pk)
    keep(owner, NOW)
    for period in ("2026-11-17", "2026-W47", "2026"):
        assert "Tom slept." in shown(period)
        assert "Ana" not in shown(period)
        assert "Bo came." not in shown(period)
    assert "A note." in shown("2026-11-17")
    assert "Cy left us." in shown("2026-11-18")  # a person's words stay, and say that the chat is gone
    assert "chat deleted" in shown("2026-11-18")
    purge_chat(owner, tea.pk, keep_memories=True)
    assert "Tom slept." in shown("2026-11-17")


@pytest.mark.parametrize("name", ["", "2026-W53", "0001", "9999-12", "2026-11-31", "x", "2026-W47-1"])
def test_a_period_that_is_none_is_not_found(page: Client, name: str) -> None:
    assert page.get(f"/journal/?period={name}").status_code == (404 if name and name != "2026-W53" else 200)


def test_a_significant_entry_is_written_edited_deleted_and_restored(owner: User, page: Client) -> None:
    assert page.post("/journal/", {"day": "2026-11-17", "title": "Moved", "text": ""}).status_code == 400
    reply = page.post("/journal/", {"day": "2026-11-17", "title": "Moved", "text": "We moved house."})
    assert "We moved house." in page.get(reply["Location"]).content.decode()
    entry = JournalEntry.objects.for_owner(owner).get()
    page.post(f"/journal/entries/{entry.pk}/edit/", {"title": "Moved", "text": "We moved to Rome."})
    deleted = page.post(f"/journal/entries/{entry.pk}/delete/")
    html = page.get(deleted["Location"]).content.decode()
    assert "We moved to Rome." not in html
    assert "Undo" in html
    restored = page.post(f"/journal/entries/{entry.pk}/restore/")
    assert "We moved to Rome." in page.get(restored["Location"]).content.decode()


def test_marks_in_entries_are_shown_as_what_they_mean(owner: User, page: Client) -> None:
    merge_daily(owner, period=dt.date(2026, 11, 17), instance="", text="- Ana was **late** <i>.")
    keep(owner, NOW)
    week = JournalEntry.objects.for_owner(owner).get(period="2026-W47")
    edit_entry(week, editor="a", text="A *quiet* week.\n\nAnd rain.")
    assert "Ana was <strong>late</strong> &lt;i&gt;." in page.get("/journal/?period=2026-11-17").content.decode()
    assert "A <em>quiet</em> week." in page.get("/journal/?period=2026-W47").content.decode()
    assert "A quiet week. And rain." in page.get("/journal/?period=2026-11").content.decode()
    page.post("/journal/", {"day": "2026-11-18", "title": "Moved", "text": "We *moved* <b>.\n\n> at last"})
    moved = page.get("/journal/?period=2026-11-18").content.decode()
    assert "We <em>moved</em> &lt;b&gt;." in moved
    assert "<blockquote>" in moved


def test_a_stale_entry_says_so_and_can_be_made_again(owner: User, page: Client) -> None:
    for day in (17, 18):
        merge_daily(owner, period=dt.date(2026, 11, day), instance="", text=f"- Day {day}.")
        if day == 17:
            keep(owner, NOW)
    html = page.get("/journal/?period=2026-W47").content.decode()
    assert "out of date" in html
    assert "Make it again" in html
    assert page.post("/journal/consolidate/?period=2026-W47").status_code == 302
    assert page.post("/journal/consolidate/?period=2026-11-17").status_code == 404


def test_the_time_zone_is_set_with_the_profile(owner: User, page: Client) -> None:
    assert page.post("/settings/", {"name": "A", "time_zone": "Mars/Olympus"}).status_code == 400
    page.post("/settings/", {"name": "A", "time_zone": "Europe/Berlin"})
    owner.refresh_from_db()
    assert (owner.name, owner.time_zone) == ("A", "Europe/Berlin")


@pytest.mark.parametrize(
    ("language", "shorts", "month"),
    [
        ("en", ["Mo", "Tu"], "November 2026"),
        ("de", ["Mo", "Di"], "November 2026"),
        ("zh-hans", ["一", "二"], "2026年11月"),
    ],
)
def test_days_and_months_are_named_as_the_language_does(language: str, shorts: list[str], month: str) -> None:
    period = month_of(dt.date(2026, 11, 17))
    with translation.override(language):
        week = weeks_of(period, period, (), dt.date(2026, 11, 17))[0]
        assert [short for _, short in weekdays_of(week)][:2] == shorts
        assert title_of(period) == month


@given(DAYS, DAYS)
def test_links_lead_to_periods_that_exist(day: dt.date, today: dt.date) -> None:
    for name in ("", *(period.name for period in at_each_level(month_of(day), today))):
        period = period_named(name, today)
        assert period
        for near in (*neighbours(period), *at_each_level(period, today)):
            assert period_named(near.name, today) == near
        before, after = neighbours(period)
        assert (neighbours(before)[1], neighbours(after)[0]) == (period, period)


@given(DAYS)
def test_a_month_has_all_its_days(day: dt.date) -> None:
    month = month_of(day)
    dates = [each.date for week in weeks_of(month, month, (), day) for each in week.days if not each.is_outside]
    assert (dates[0], dates[-1], len(dates)) == (month.first, month.last, month.last.day)


def test_no_model_is_asked_while_a_chat_is_deleted_for_good(
    owner: User, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    heist, tea = make_chat(owner, title="The heist"), make_chat(owner)
    text = f"- Ana rang. [chat:{heist.pk}]\n- Tom slept. [chat:{tea.pk}]"
    merge_daily(owner, period=dt.date(2026, 11, 17), instance="", text=text)
    keep(owner, NOW)
    with monkeypatch.context() as during, django_capture_on_commit_callbacks() as callbacks:
        during.setattr(selection, "embedder_for", lambda owner: pytest.fail("A model is asked."))
        purge_chat(owner, heist.pk)
    texts = JournalEntry.objects.for_owner(owner).values_list("text", flat=True)
    assert len(texts) == 4
    assert "Ana" not in "".join(texts)
    for callback in callbacks:
        callback()
    assert EmbeddingJob.objects.for_owner(owner).exists()


def test_the_newest_day_opens_with_its_week_at_a_glance(owner: User, page: Client) -> None:
    for day, text in ((16, "- Ana rang."), (18, "- Bo came.\n- Cy left.")):
        merge_daily(owner, period=dt.date(2026, 11, day), instance="", text=text)
    html = page.get("/journal/").content.decode()
    assert "Wednesday, 18 November 2026" in html
    week = html.partition('id="week"')[2].partition("</section>")[0]
    assert week.count("<li>") == 7
    assert "Ana rang." in week
    assert "Cy left." not in week
    assert 'id="week"' not in page.get("/journal/?period=2026-W47").content.decode()
