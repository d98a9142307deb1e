"""A connected model writes the journal in its own words; what it does wrong costs nothing but time."""

import datetime as dt
from collections.abc import Iterator

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.journal.entries import edit_entry, merge_daily
from apps.journal.rewriting import MAX_ASKED, RETRY_AFTER, _store, is_account, rewrite_due
from apps.journal.tasks import keep
from apps.llm.operations import create_connection, use_for
from apps.memories.models import JournalEntry
from tests.factories import UserFactory
from tests.llm.scripted_server import Reply, ScriptedServer

NOW = dt.datetime(2026, 11, 23, 12, tzinfo=dt.UTC)
QUOTE = "- Ana came home with a parrot. [chat:7] [via:desk]"
GOOD = "Ana came home, and brought a parrot along."


def connect(owner: User, server: ScriptedServer) -> None:
    connection = create_connection(owner, name="s", backend="openai", base_url=f"{server.url}/v1", model="m", timeout=2)
    use_for(connection, generation=True)


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


@pytest.fixture
def server(request: pytest.FixtureRequest, owner: User) -> Iterator[ScriptedServer]:
    with ScriptedServer(getattr(request, "param", GOOD)) as server:
        connect(owner, server)
        yield server


@pytest.fixture
def week(owner: User, server: ScriptedServer) -> JournalEntry:
    merge_daily(owner, period=dt.date(2026, 11, 17), instance="desk", text="- Ana came home with a parrot. [chat:7]")
    keep(owner, NOW)
    return JournalEntry.objects.for_owner(owner).get(granularity="weekly")


def later() -> dt.datetime:
    return timezone.now() + dt.timedelta(seconds=1)


def test_a_model_writes_the_week_from_its_days(owner: User, week: JournalEntry, server: ScriptedServer) -> None:
    assert week.text == QUOTE
    rewrite_due(owner.pk, later())
    week.refresh_from_db()
    assert (week.text, week.ask_model_at, week.version, week.chats) == (f"- {GOOD} [via:desk]", None, 2, ["7"])
    calls = len(server.requests)
    rewrite_due(owner.pk, later())
    assert len(server.requests) == calls


def test_a_model_writes_of_each_instance_by_itself(owner: User, server: ScriptedServer) -> None:
    for instance, text in (
        ("desk", "- Ana came home with a parrot. [chat:7]"),
        ("phone", "- Bo left in the rain. [chat:8]"),
    ):
        merge_daily(owner, period=dt.date(2026, 11, 17), instance=instance, text=text)
    keep(owner, NOW)
    server.reply_to(lambda request: "Bo" in request.messages[-1]["content"], "In the rain, Bo left us.")
    rewrite_due(owner.pk, later())
    rows = JournalEntry.objects.for_owner(owner)
    assert rows.get(granularity="weekly").text == f"- {GOOD} [via:desk]\n- In the rain, Bo left us. [via:phone]"


def test_without_instances_a_week_is_prose(owner: User, server: ScriptedServer) -> None:
    merge_daily(owner, period=dt.date(2026, 11, 17), instance="", text="- Ana came home with a parrot. [chat:7]")
    keep(owner, NOW)
    rewrite_due(owner.pk, later())
    assert JournalEntry.objects.for_owner(owner).get(granularity="weekly").text == GOOD


@pytest.mark.parametrize(
    "server",
    [Reply(GOOD, finish_reason="length"), Reply(status=400), "", "Such matters had better remain untold.", GOOD * 500],
    indirect=True,
)
def test_a_reply_that_is_no_account_leaves_the_quote_and_is_asked_for_again(
    owner: User, week: JournalEntry, server: ScriptedServer
) -> None:
    asked_at = later()
    rewrite_due(owner.pk, asked_at)
    week.refresh_from_db()
    assert (week.text, week.ask_model_at) == (QUOTE, asked_at + RETRY_AFTER)
    for _ in range(MAX_ASKED + 1):
        asked_at += RETRY_AFTER
        rewrite_due(owner.pk, asked_at)
    week.refresh_from_db()
    assert (week.text, week.ask_model_at, week.model_asked) == (QUOTE, None, MAX_ASKED)


def test_a_server_that_fails_leaves_the_quote(owner: User, week: JournalEntry, server: ScriptedServer) -> None:
    server.reply_to(lambda request: True, Reply(status=503))
    rewrite_due(owner.pk, later())
    week.refresh_from_db()
    assert week.text == QUOTE
    assert week.ask_model_at


def test_an_edit_during_the_call_wins(owner: User, week: JournalEntry, server: ScriptedServer) -> None:
    edit_entry(JournalEntry.objects.for_owner(owner).get(pk=week.pk), editor="me", text="Mine.")
    _store(week, GOOD)  # as at the end of a call that began before the edit
    week.refresh_from_db()
    assert (week.text, week.edited_by) == ("Mine.", "me")


def test_a_new_daily_has_the_model_write_the_week_again(
    owner: User, week: JournalEntry, server: ScriptedServer
) -> None:
    rewrite_due(owner.pk, later())
    merge_daily(owner, period=dt.date(2026, 11, 18), instance="desk", text="- Bo left. [chat:8]")
    keep(owner, NOW)
    week.refresh_from_db()
    assert "Bo left." in week.text
    assert week.ask_model_at


def test_an_account_is_of_the_words_of_its_notes() -> None:
    assert is_account(GOOD, QUOTE, 400)
    assert not is_account("", QUOTE, 400)
    assert not is_account("Nothing whatever happened anywhere", QUOTE, 400)
    assert not is_account(GOOD * 30, QUOTE, 400)
