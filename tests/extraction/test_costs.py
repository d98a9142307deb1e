"""Cost is told beforehand and agreed to above a limit; runs wait for the model and go on once it can be called."""

from collections.abc import Callable
from typing import Any

import pytest
from django.test import Client
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common import jobs
from apps.extraction import tasks
from apps.extraction.models import ExtractionRun, ModelCall
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.extraction.runs.queries import expected_cost, is_due
from apps.extraction.settings.stores import change_settings
from apps.extraction.steps import recording
from apps.extraction.templatetags.extraction_tags import describe_cost
from apps.llm.backends.connection_check import check_connection
from apps.llm.models import Connection
from apps.llm.operations import set_daily_limit, update_connection
from tests.contract.conftest import client_of
from tests.extraction.engine.conftest import connect as connect
from tests.extraction.engine.conftest import owner as owner
from tests.extraction.engine.conftest import server as server
from tests.extraction.engine.layers import texts
from tests.extraction.engine.story import STORY, append, read, taken, tell
from tests.factories import UserFactory
from tests.lanes import sampled
from tests.llm.scripted_server import Reply, ScriptedServer


@pytest.fixture
def chat(owner: User) -> Chat:
    change_settings(owner, {"reading": "one"})
    return tell(owner, *STORY)


@pytest.fixture
def api(owner: User) -> APIClient:
    return client_of(owner)


@pytest.fixture
def site(owner: User) -> Client:
    client = Client()
    client.force_login(owner)
    return client


def test_the_api_tells_what_reading_will_take(api: APIClient, chat: Chat) -> None:
    reply = api.get(f"/api/v1/chats/{chat.pk}/extract/").json()
    assert reply["asks"] is False
    assert set(reply["estimate"]) == {"calls", "prompt_tokens", "completion_tokens", "cost", "currency"}
    assert reply["estimate"]["cost"] is None
    assert 1000 < reply["estimate"]["prompt_tokens"] < 100_000
    Connection.objects.for_owner(chat.owner_id).update(prompt_price="2.50", completion_price="10", currency="EUR")
    priced = api.get(f"/api/v1/chats/{chat.pk}/extract/").json()["estimate"]
    cost = priced["prompt_tokens"] * 2.5e-6 + priced["completion_tokens"] * 1e-5
    assert (float(priced["cost"]), priced["currency"]) == (pytest.approx(cost, abs=0.01), "EUR")


@pytest.mark.parametrize("reading", ["one", "separate"])
def test_the_estimate_is_near_what_reading_takes(reading: str, chat: Chat, server: ScriptedServer) -> None:
    change_settings(chat.owner, {"reading": reading})
    expected = expected_cost(chat)
    run = read(chat)
    assert run.estimate == expected
    assert run.llm["calls"] / 2 < expected["calls"] < run.llm["calls"] * 3


def test_what_a_run_cost_is_shown_where_its_calls_had_a_price(api: APIClient, chat: Chat, site: Client) -> None:
    prices = Connection.objects.for_owner(chat.owner_id)
    prices.update(prompt_price="1000", completion_price="3000", currency="EUR")
    run = read(chat)
    used = api.get(f"/api/v1/runs/{run.pk}/").json()["llm"]
    cost = used["prompt_tokens"] * 1e-3 + used["completion_tokens"] * 3e-3
    assert (float(used["cost"]), used["currency"]) == (pytest.approx(cost), "EUR")
    prices.update(prompt_price="9999")  # a later price changes nothing about what was paid
    for page in (f"/memories/runs/{run.pk}/", f"/memories/chats/{chat.pk}/book/runs/"):
        assert f"{cost:.2f} EUR" in site.get(page).content.decode()


@pytest.mark.parametrize(("cost", "words"), [("1.236", "1.24 EUR"), ("0.0000004", "under 0.01 EUR"), ("0", "0.00 EUR")])
def test_a_cost_is_rounded_but_never_to_nothing(cost: str, words: str) -> None:
    assert describe_cost({"cost": cost, "currency": "EUR"}) == words


def test_a_cost_is_not_shown_where_a_call_had_no_price_or_another_currency(api: APIClient, chat: Chat) -> None:
    connections = Connection.objects.for_owner(chat.owner_id)
    run = read(chat)
    for change in ({"prompt_price": "2"}, {"currency": "EUR"}):
        connections.update(**change)
        recording.record_call(run, ModelCall(owner_id=run.owner_id, run=run, prompt_tokens=10))
        used = api.get(f"/api/v1/runs/{run.pk}/").json()["llm"]
        assert (used["cost"], used["currency"]) == (None, None)


def test_nothing_is_estimated_without_a_model_or_new_messages(api: APIClient, chat: Chat) -> None:
    read(chat)
    assert api.get(f"/api/v1/chats/{chat.pk}/extract/").json() == {"estimate": None, "asks": False}
    other = tell(UserFactory(), *STORY)
    assert expected_cost(other) == {}


def test_above_the_limit_nothing_is_sent_until_the_person_agrees(
    api: APIClient, chat: Chat, server: ScriptedServer
) -> None:
    change_settings(chat.owner, {"ask_above": 100})
    started = api.post(f"/api/v1/chats/{chat.pk}/extract/")
    assert started.status_code == 202
    run = started.json()["run"]
    assert (run["state"], run["waits_for"]) == ("paused", "agreement")
    assert run["estimate"]["prompt_tokens"] > 100
    tasks.sweep_runs()
    assert jobs.claim_next([ExtractionRun]) is None
    assert server.of_kind("generation") == []
    assert api.post(f"/api/v1/runs/{run['id']}/resume/").json()["state"] == "queued"
    assert taken(ExtractionRun.objects.for_owner(chat.owner_id).get(pk=run["id"])).state == "succeeded"
    assert texts(chat)


def test_messages_that_are_left_unread_are_never_asked_about_again(
    api: APIClient, chat: Chat, server: ScriptedServer
) -> None:
    change_settings(chat.owner, {"ask_above": 100})
    run = api.post(f"/api/v1/chats/{chat.pk}/extract/").json()["run"]
    assert api.post(f"/api/v1/runs/{run['id']}/skip/").json()["state"] == "cancelled"
    assert not is_due(Chat.objects.for_owner(chat.owner_id).get(pk=chat.pk))
    change_settings(chat.owner, {"ask_above": 200_000})
    append(chat, "FACT(2): Mira owns a boat.", "Good.", is_user=True)
    read(chat)
    assert texts(chat, tier="long_term") == ["Mira owns a boat."]


def test_the_page_asks_and_starts_on_a_click(site: Client, chat: Chat) -> None:
    change_settings(chat.owner, {"ask_above": 100})
    page = site.post(f"/memories/chats/{chat.pk}/extract/", headers={"HX-Request": "true"}).content.decode()
    assert "is expected to take about" in page
    assert "Read them" in page
    run = chat.runs.get()
    assert run.state == "paused"
    site.post(f"/memories/runs/{run.pk}/resume/", headers={"HX-Request": "true"})
    run.refresh_from_db()
    assert run.state == "queued"


def waiting(chat: Chat, server: ScriptedServer, reply: Reply) -> ExtractionRun:
    server.reply_to(lambda request: request.kind == "generation", reply)
    run, _ = start_run(chat.owner_id, chat)
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert run.waits_for
    return run


MENDS: dict[str, Callable[[Connection], Any]] = {
    "a new key": lambda connection: update_connection(connection, api_key="another-key"),
    "a passed test": lambda connection: check_connection(connection),
}


@pytest.mark.parametrize("mend", sampled(MENDS, 1))
@pytest.mark.parametrize("status", [401, 500])
def test_a_waiting_run_goes_on_once_the_connection_is_mended(
    mend: str, status: int, chat: Chat, server: ScriptedServer, django_capture_on_commit_callbacks: Any
) -> None:
    run = waiting(chat, server, Reply("No.", status=status))
    server.reply_to(lambda request: request.kind == "generation", "NONE")
    with django_capture_on_commit_callbacks(execute=True):
        MENDS[mend](Connection.objects.for_owner(chat.owner_id).get())
    run.refresh_from_db()
    assert (run.state, run.wait_until) == ("queued", None)
    assert taken(run).state == "succeeded"


def test_a_raised_limit_ends_the_wait(
    chat: Chat, server: ScriptedServer, django_capture_on_commit_callbacks: Any
) -> None:
    set_daily_limit(chat.owner, 1)
    read(tell(chat.owner, "Hello.", "Good.", "Yes."))  # uses up the day's tokens
    run, _ = start_run(chat.owner_id, chat)
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.waits_for) == ("queued", "limit")
    with django_capture_on_commit_callbacks(execute=True):
        set_daily_limit(chat.owner, None)
    run.refresh_from_db()
    assert run.wait_until is None
    assert taken(run).state == "succeeded"


def test_the_page_says_why_a_run_waits_and_until_when(site: Client, chat: Chat, server: ScriptedServer) -> None:
    run = waiting(chat, server, Reply("Overloaded.", status=503))
    for url in (f"/memories/chats/{chat.pk}/progress/", f"/memories/runs/{run.pk}/"):
        page = site.get(url, headers={"HX-Request": "true"}).content.decode()
        assert "Overloaded." in page
        assert "Next try at" in page
        assert "Try now" in page


def test_what_was_refused_is_shown_and_tried_again_on_a_click(site: Client, chat: Chat, server: ScriptedServer) -> None:
    server.reply_to(lambda request: request.kind == "generation", Reply("Not allowed.", status=400))
    run = read(chat)
    page = site.get(f"/memories/runs/{run.pk}/").content.decode()
    assert "Not allowed." in page
    book = f"/memories/chats/{chat.pk}/book/"
    for url in (f"/memories/runs/{run.pk}/", f"/memories/chats/{chat.pk}/progress/", book, f"{book}runs/"):
        assert "could not be read" in site.get(url).content.decode(), "on each page, also when it is opened later"
    server.reply_to(lambda request: request.kind == "generation", "NONE")
    site.post(f"/memories/chats/{chat.pk}/extract/", {"refused": "1"})
    again = chat.runs.latest("pk")
    assert again.pk != run.pk
    assert taken(again).counts.get("refused") is None
    assert "could not be read" not in site.get(book).content.decode()


AGAIN = "/settings/models/read-again/"


def test_the_page_tells_what_reading_old_chats_again_will_take(site: Client, chat: Chat) -> None:
    read(chat)
    Connection.objects.for_owner(chat.owner_id).update(prompt_price="2.50", completion_price="10", currency="EUR")
    assert expected_cost(chat) == {}
    page = site.get(AGAIN).content.decode()
    expected = expected_cost(chat, again=True)
    assert f"about {expected['calls']} calls" in page
    assert f"about {expected['cost']} EUR" in page


def test_chosen_chats_are_read_again_without_another_question(site: Client, chat: Chat, owner: User) -> None:
    read(chat)
    other = tell(owner, *STORY)
    change_settings(owner, {"ask_above": 1000})
    reply = site.post(AGAIN, {"chat": [str(chat.pk)]}, follow=True)
    assert "1 chat is read again." in reply.content.decode()
    run = ExtractionRun.objects.for_owner(owner).filter(chat=chat).latest("pk")
    assert (run.state, run.again, run.first and run.first.index) == (jobs.Job.State.QUEUED, True, 0)
    assert not ExtractionRun.objects.for_owner(owner).filter(chat=other).exists()


def test_nothing_is_read_again_without_a_choice_or_in_anothers_chat(site: Client, chat: Chat) -> None:
    foreign = tell(UserFactory(), *STORY)
    for chosen in ([], [str(foreign.pk)], ["x"]):
        assert site.post(AGAIN, {"chat": chosen}).status_code == 400
    assert not ExtractionRun.objects.for_owner(chat.owner_id).exists()
    assert str(foreign.pk) not in site.get(AGAIN).content.decode()


def test_the_runs_of_a_chat_lead_to_reading_it_again(site: Client, chat: Chat, owner: User) -> None:
    other = tell(owner, *STORY)
    link = f"{AGAIN}?chat={chat.pk}"
    assert link in site.get(f"/memories/chats/{chat.pk}/book/runs/").content.decode()
    page = site.get(link).content.decode()
    assert str(chat.pk) in page
    assert str(other.pk) not in page


def test_the_first_connection_leads_to_the_first_chat(site: Client) -> None:
    page = site.get(AGAIN).content.decode()
    assert "No chat to read again" not in page
    assert 'href="/chats/new/"' in page


def say_none(request: Any) -> str:
    return "NONE"


def test_a_reading_in_which_the_model_kept_nothing_says_so(site: Client, chat: Chat, server: ScriptedServer) -> None:
    server.reply_to(lambda request: request.kind == "generation", say_none)
    rail = f"/memories/chats/{chat.pk}/rail/"
    assert "Nothing yet" in site.get(rail).content.decode()
    run, _ = start_run(chat.owner, chat)
    assert "is reading this chat" in site.get(rail).content.decode()
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.kept_nothing) == ("succeeded", True)
    count = run.messages_read
    for url in (f"/memories/runs/{run.pk}/", rail, f"/memories/chats/{chat.pk}/book/"):
        page = site.get(url).content.decode()
        assert f"read {count} messages and kept nothing of them" in page, url
        assert 'href="/settings/models/test/"' in page, url
        assert "Use the built-in extractor" in page, url
    assert "Nothing yet" not in site.get(rail).content.decode()
    ended = site.get(f"/memories/chats/{chat.pk}/progress/?was_active", headers={"HX-Request": "true"})
    assert f"/memories/runs/{run.pk}/" in ended.content.decode()


def test_a_reading_in_which_something_was_kept_does_not(site: Client, chat: Chat) -> None:
    run = read(chat)
    assert not run.kept_nothing
    assert "kept nothing" not in site.get(f"/memories/runs/{run.pk}/").content.decode()


def test_the_built_in_extractor_offers_no_test_of_a_model(db: None) -> None:
    alice = UserFactory()
    small = tell(alice, "Hm.", "Well.", "Hm.")
    run = read(small)
    site = Client()
    site.force_login(alice)
    page = site.get(f"/memories/runs/{run.pk}/").content.decode()
    assert "built-in extractor read" in page
    assert "Test the model" not in page
