"""Lines of a reply that can't be read: they are counted, kept, shown, and asked for again where they are most of it."""

from typing import Any

import pytest
from django.test import Client

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.extraction.models import ExtractionRun
from apps.extraction.steps.asking import MOSTLY_UNUSED, REMINDERS
from apps.memories.verdicts.known_statements import Relation
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import tune
from tests.extraction.engine.layers import texts
from tests.extraction.engine.story import append, read, tell
from tests.extraction.engine.test_group import group
from tests.extraction.engine.test_replies import call_of, reply_to, unused
from tests.lanes import sampled
from tests.llm.scripted_server import Request, ScriptedServer

GOOD = "[fact:2:permanent:source=1] Mira has a goat called Pip."
BAD = ["<rumour> The mill is haunted.", "<rumour> The miller left.", "<rumour> The wheel broke."]
POOR = "\n\n".join([GOOD, *BAD, "<rumour> The grain is wet."])
WELL = "[fact:2:permanent:source=1] Mira has a goat called Pip.\n[fact:2:permanent:source=1] Mira owns the mill."


@pytest.fixture
def chat(owner: User) -> Chat:
    return tell(owner, "Hello.", "I am Mira. I own the mill, and I have a goat called Pip.", "Good.", "Yes.")


def asked(server: ScriptedServer, task: str) -> list[Request]:
    return [request for request in server.requests if storyteller.task_of(request) == task]


def reminded(server: ScriptedServer) -> list[Request]:
    return [request for request in server.requests if REMINDERS[MOSTLY_UNUSED] in str(request.body)]


@pytest.mark.parametrize("reading", ["one", "separate"])
def test_most_of_a_reply_is_asked_for_again(chat: Chat, server: ScriptedServer, reading: str) -> None:
    tune(chat, reading=reading)
    task = "reading" if reading == "one" else "long_term"
    reply_to(server, task, WELL)
    reply_to(server, task, POOR, times=1)
    run = read(chat, tiers=["long_term"])
    assert (run.state, run.counts.get("refused")) == ("succeeded", None)
    assert texts(chat) == ["Mira has a goat called Pip.", "Mira owns the mill."]
    assert len(reminded(server)) == 1
    assert [call.error for call in run.calls.filter(task=task).order_by("pk")] == [MOSTLY_UNUSED, ""]
    assert run.counts.get("unused", 0) == 0


def test_what_can_be_read_stays_where_the_second_reply_has_less_of_it(chat: Chat, server: ScriptedServer) -> None:
    reply_to(server, "long_term", "NONE")
    reply_to(server, "long_term", POOR, times=1)
    run = read(chat, tiers=["long_term"])
    assert texts(chat) == ["Mira has a goat called Pip."]
    assert (run.state, run.counts["unused"], len(unused(run, "long_term"))) == ("succeeded", 4, 4)


def test_two_poor_replies_refuse_nothing(chat: Chat, server: ScriptedServer) -> None:
    reply_to(server, "long_term", POOR)
    run = read(chat, tiers=["long_term"])
    assert texts(chat) == ["Mira has a goat called Pip."]
    assert (run.state, run.counts.get("refused"), run.counts["unused"]) == ("succeeded", None, 4)
    assert len(asked(server, "long_term")) == 2


def test_a_line_of_a_group_counts_once_and_not_for_each_member(owner: User, server: ScriptedServer) -> None:
    chat = group(owner, 3)
    tune(chat, reading="one")
    reply_to(server, "reading", f"{WELL}\n[feels] Member0 -> Nobody: trust(high)")
    run = read(chat, tiers=["long_term"])
    assert (run.state, run.counts.get("unused")) == ("succeeded", 1)


REMARKS = {
    "sentences around": f"Sure, I can do that for you.\n\n{GOOD}\n\nLet me know if you need more.",
    "headings": f"## Memories\n\n**Facts**\n{GOOD}\n\n## Others\n\nNONE",
    "one line": f"{GOOD}\n\n{BAD[0]}",
    "why there is nothing": "NONE\n\nThey only greet each other.\n\nNothing of that will matter later.",
}


@pytest.mark.parametrize("case", sampled(REMARKS, 2))
def test_remarks_are_no_reason_to_ask_again(chat: Chat, server: ScriptedServer, case: str) -> None:
    reply_to(server, "long_term", REMARKS[case])
    assert read(chat, tiers=["long_term"]).state == "succeeded"
    assert len(asked(server, "long_term")) == 1


def test_lines_of_a_tier_that_was_not_asked_for_are_unused(chat: Chat, server: ScriptedServer) -> None:
    tune(chat, reading="one")
    reply_to(server, "reading", f"{WELL}\n[detail:1:source=1] The mill is by the river.")
    run = read(chat, tiers=["long_term"])
    assert unused(run, "reading") == ["[detail:1:source=1] The mill is by the river."]


def answers(request: Request) -> str:
    return "1. UPDATE" if storyteller.task_of(request) in ("review", "pairs") else storyteller.answer(request)


def move_to_lima(owner: User, reading: str) -> tuple[Chat, ExtractionRun]:
    """Tell of a move, so that a pair of statements is asked about. Return the chat and the run that asked."""
    chat = tell(owner, "FACT(2): Mira lives in the tower of Oslo.", "Good.", "Yes.")
    tune(chat, reading=reading)
    read(chat, tiers=["long_term"])
    append(chat, "FACT(2): Mira lives in the tower of Lima.", is_user=True)
    append(chat, "Yes.")
    run = read(chat, tiers=["long_term"])
    return chat, run


@pytest.mark.parametrize("reading", sampled(["separate", "one"], 1))
def test_the_number_of_a_pair_may_be_that_of_a_list(owner: User, server: ScriptedServer, reading: str) -> None:
    server.reply_to(lambda request: storyteller.task_of(request) in ("review", "pairs"), answers)
    chat, run = move_to_lima(owner, reading)
    assert texts(chat) == ["Mira lives in the tower of Lima."]
    assert run.counts.get("unused", 0) == 0


@pytest.mark.parametrize("reading", sampled(["one", "separate"], 1))
def test_answers_about_pairs_that_were_not_asked_about_are_unused(
    owner: User, server: ScriptedServer, reading: str
) -> None:
    reply = f"[1] {Relation.UPDATE.upper()}\n[9] {Relation.SAME.upper()}"
    server.reply_to(lambda request: storyteller.task_of(request) in ("review", "pairs"), lambda request: reply)
    _, run = move_to_lima(owner, reading)
    assert [line for step in run.steps.all() for line in step.unused_lines] == ["[9] SAME"]


def test_who_feels_what_of_somebody_unknown_is_unused(chat: Chat, server: ScriptedServer) -> None:
    reply_to(server, "long_term", GOOD)
    reply_to(server, "relationships", "Mira -> the weather: fond(high)")
    run = read(chat, tiers=["long_term"])
    assert unused(run, "long_term") == ["Mira -> the weather: fond(high)"]


def poor_run(chat: Chat, server: ScriptedServer) -> ExtractionRun:
    reply_to(server, "long_term", f"{GOOD}\n\n{BAD[0]}")
    return read(chat, tiers=["long_term"])


def test_the_page_of_a_run_shows_how_many_lines_and_which(chat: Chat, server: ScriptedServer) -> None:
    run = poor_run(chat, server)
    site = Client()
    site.force_login(chat.owner)
    page = " ".join(site.get(f"/memories/runs/{run.pk}/").content.decode().split())
    assert "1 line of the model's replies could not be read." in page
    assert "The mill is haunted." in page


def test_the_api_has_how_many_lines_and_which(chat: Chat, server: ScriptedServer) -> None:
    run = poor_run(chat, server)
    client = Client()
    client.force_login(chat.owner)
    found: dict[str, Any] = client.get(f"/api/v1/runs/{run.pk}/").json()
    assert found["counts"]["unused"] == 1
    steps = client.get(f"/api/v1/runs/{run.pk}/steps/").json()["results"]
    assert {step["stage"]: step["unused_lines"] for step in steps if step["unused_lines"]} == {"long_term": [BAD[0]]}
    client.force_login(User.objects.create_user("charlie@example.com"))
    assert client.get(f"/api/v1/runs/{run.pk}/steps/").status_code == 404


def test_nothing_but_unused_lines_is_a_run_that_kept_nothing(chat: Chat, server: ScriptedServer) -> None:
    reply_to(server, "long_term", "[rumour:2] The mill is haunted.")
    run = read(chat, tiers=["long_term"])
    assert (run.counts["unused"], run.kept_nothing) == (1, True)
    assert call_of(run, "long_term").error == MOSTLY_UNUSED
