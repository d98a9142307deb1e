"""One call reads a window for all tiers: what it costs, what it learns, and for whom."""

import datetime as dt
import re
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.chats.operations import add_participant, append_messages, create_chat
from apps.common import jobs
from apps.extraction.models import ExtractionRun
from apps.extraction.progress import retry_refused
from apps.extraction.runs.operations import request_run
from apps.extraction.settings.stores import change_settings
from apps.llm.tokens import count_tokens
from apps.memories.models import Memory
from tests.extraction.engine import storyteller
from tests.extraction.engine.layers import texts, told
from tests.extraction.engine.story import STORY, append, edit, read, settle, taken, tell
from tests.factories import make_character, parsed
from tests.llm.scripted_server import Reply, Request, ScriptedServer

WORDS = (
    "the harbour lies quiet under a low sky while gulls circle above the empty nets and somebody hums a tune".split()
)


@pytest.fixture(autouse=True)
def one_call(owner: User) -> None:
    """The settings under which one call reads a window."""
    change_settings(owner, {"reading": "one"})


def tasks_of(server: ScriptedServer) -> list[str]:
    return [storyteller.task_of(request) for request in server.of_kind("generation")]


def is_task(name: str) -> Any:
    return lambda request: storyteller.task_of(request) == name


def prose(number: int) -> str:
    """A message of 150 words with a fact, a detail and a state."""
    filler = " ".join(WORDS[(number + n) % len(WORDS)] for n in range(120))
    return (
        f"{filler}.\nFACT(2): Mira met merchant {chr(65 + number % 26)}{number} in the spring.\n"
        f"DETAIL(1): Alice saw lantern {number} burn.\nSTATE: Mira/character/location=pier {number}"
    )


def sent_tokens(requests: list[Request]) -> int:
    return sum(count_tokens(message["content"]) for request in requests for message in request.messages)


def test_a_story_is_remembered_in_every_tier(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, *STORY)
    run = read(chat)
    assert (run.state, run.error) == ("succeeded", "")
    assert {row[0] for row in told(chat)} == {
        "memory", "arc", "scene", "ledger", "knowledge", "relationship", "digest",
    }  # fmt: skip
    assert "Mira lives in Marrow now." in texts(chat, tier="long_term")
    assert "Mira lives in Port Salt." not in texts(chat, tier="long_term")
    assert set(tasks_of(server)) <= {"reading", "review", "profiles", "canon", "scene_recap", "continuity"}
    assert settle(chat) == []


@pytest.mark.parametrize("table", ["memories_relationship", "memories_ledgerentry"])
def test_what_the_one_call_shows_is_looked_up_once(owner: User, server: ScriptedServer, table: str) -> None:
    """No tier looks it up again for a prompt of its own, which nobody would be sent."""
    read(chat := tell(owner, *STORY))
    append(chat, "The lamps are lit.", is_user=True)
    server.requests.clear()
    with CaptureQueriesContext(connection) as captured:
        assert read(chat).state == "succeeded"
    assert tasks_of(server).count("reading") == 1
    current = re.compile(rf'SELECT .* FROM "{table}" .*"{table}"\."state" = \'current\'')
    assert len([query for query in captured if current.match(query["sql"])]) == 1


def test_three_new_messages_cost_two_calls_and_5000_tokens(
    owner: User, server: ScriptedServer, connect: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    connect(owner, name="Hosted", context_tokens=32_768)
    change_settings(owner, {"reading": "auto", "extract_every": 3})
    chat = tell(owner, *(prose(number) for number in range(60)))
    server.requests.clear()
    read(chat)
    first = server.of_kind("generation")
    with capsys.disabled():
        print(f"\nfirst reading of 60 messages: {len(first)} calls, {sent_tokens(first):,} prompt tokens")
    append(chat, *(prose(number) for number in (60, 61, 62)), "Good.", is_user=True)
    server.requests.clear()
    run = read(chat)
    later = server.of_kind("generation")
    with capsys.disabled():
        print(f"3 new messages: {len(later)} calls, {sent_tokens(later):,} prompt tokens {tasks_of(server)}")
    assert run.state == "succeeded"
    assert len(first) <= 6
    assert sent_tokens(first) <= 25_000
    assert len(later) <= 2
    assert sent_tokens(later) <= 5_000


def test_earlier_messages_are_shown_for_reference_and_nothing_is_learnt_from_them(
    owner: User, server: ScriptedServer
) -> None:
    chat = tell(owner, "FACT(2): Tom sells boats.", "I see.", "Good.")
    read(chat)
    append(chat, "He agreed.", "Fine.", is_user=True)
    server.requests.clear()
    read(chat)
    [request] = [request for request in server.of_kind("generation") if storyteller.task_of(request) == "reading"]
    assert "Tom sells boats." in storyteller.value_of(request, "earlier")
    assert "Tom sells boats." not in storyteller.value_of(request, "transcript")
    assert "He agreed." in storyteller.value_of(request, "transcript")
    order = [
        request.prompt.index(text)
        for text in ("Write down", "Known memories:", "Tom sells boats.", "He agreed.")
        if text in request.prompt
    ]
    assert order == sorted(order)


NAMES = [f"Member{chr(65 + n)}" for n in range(10)]


def group(owner: User) -> Chat:
    chat = create_chat(owner, title="Ten", user_name="Alice")
    for name in NAMES:
        add_participant(owner, chat.pk, name=name, character=make_character(owner, name))
    return Chat.objects.for_owner(owner).get(pk=chat.pk)


def say(chat: Chat, name: str, text: str, *, heard_by: list[str] | None = None) -> None:
    message = parsed(text, name=name)
    if heard_by is not None:
        message = parsed(text, name=name, extra={"loci": {"witnesses": heard_by}})
    append_messages(chat.owner_id, chat.pk, [message])


def known_to(owner: User, name: str) -> set[str]:
    rows = Memory.objects.for_owner(owner).filter(character__name=name, tier="long_term", state="active")
    return set(rows.values_list("text", flat=True))


def test_a_group_of_ten_is_read_once_and_each_learns_what_they_witnessed(owner: User, server: ScriptedServer) -> None:
    chat = group(owner)
    say(chat, NAMES[0], "FACT(2): The mill burnt down.")
    say(chat, NAMES[1], "FACT(2): The heir is alive.", heard_by=NAMES[:3])
    say(chat, NAMES[2], "Good.")
    append(chat, "And so?", is_user=True)
    run = read(chat)
    assert run.state == "succeeded"
    assert len(server.of_kind("generation")) <= 3
    for number, name in enumerate(NAMES):
        expected = {"The mill burnt down."} | ({"The heir is alive."} if number < 3 else set())
        assert known_to(owner, name) == expected, name


def test_who_a_line_names_learns_it_and_nobody_learns_what_they_did_not_witness(
    owner: User, server: ScriptedServer
) -> None:
    chat = group(owner)
    say(chat, NAMES[0], "I whisper it to some.")
    say(chat, NAMES[1], "Nobody else hears this.", heard_by=NAMES[1:3])
    append(chat, "And so?", is_user=True)
    server.reply_to(
        is_task("reading"),
        f"[fact:2:source=0:for={NAMES[4]},{NAMES[5]}] The safe is empty.\n"
        f"[fact:2:source=1:for={NAMES[2]},{NAMES[8]}] The captain lied.\n"
        "[fact:2:source=0:for=Somebody] The tide is high.",
    )
    read(chat)
    assert [name for name in NAMES if "The safe is empty." in known_to(owner, name)] == NAMES[4:6]
    assert [name for name in NAMES if "The captain lied." in known_to(owner, name)] == [NAMES[2]]
    assert all("The tide is high." in known_to(owner, name) for name in NAMES)


def test_a_reading_that_is_refused_leaves_its_messages_unread_until_tried_again(
    owner: User, server: ScriptedServer
) -> None:
    chat = tell(owner, "FACT(2): Mira keeps a lighthouse.", "I see.", "Good.")
    server.reply_to(is_task("reading"), Reply("Not allowed.", status=400))
    run = read(chat)
    assert (run.state, run.counts["refused"]) == ("succeeded", 1)
    assert texts(chat) == []
    server.reply_to(is_task("reading"), storyteller.answer)
    assert settle(chat) == []
    retry_refused(chat)
    settle(chat)
    assert texts(chat) == ["Mira keeps a lighthouse."]


def test_a_review_that_is_refused_loses_nothing_and_replaces_nothing(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, "FACT(2): Mira lives in Port Salt.", "I see.", "Good.")
    read(chat)
    for task in ("review", "pairs"):
        server.reply_to(is_task(task), Reply("Not allowed.", status=400))
    append(chat, "FACT(2): Mira lives in Marrow now.", "Good.", is_user=True)
    run = read(chat)
    assert (run.state, run.counts.get("refused")) == ("succeeded", None)
    assert texts(chat) == ["Mira lives in Marrow now.", "Mira lives in Port Salt."]


@pytest.mark.parametrize("task", ["reading", "review"])
def test_a_reply_that_is_stored_is_not_paid_for_again(task: str, owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, "FACT(2): Mira lives in Port Salt.", "I see.", "Good.")
    read(chat)
    append(chat, "FACT(2): Mira lives in Marrow now.", "Good.", is_user=True)
    server.requests.clear()
    later = "review" if task == "reading" else "profiles"
    server.reply_to(is_task(later), Reply(status=500))
    change_settings(owner, {"profile_minutes": 1})
    run, _ = request_run(owner, chat)
    run = taken(run)
    if task == "reading":
        assert run.is_waiting
        jobs.cancel(run)
        server.reply_to(is_task(later), storyteller.answer)
        read(chat)
    assert tasks_of(server).count(task) == 1
    assert "Mira lives in Marrow now." in texts(chat)


def test_a_message_that_is_edited_during_the_reading_is_read_again(
    meanwhile: Any, owner: User, server: ScriptedServer
) -> None:
    chat = tell(owner, "FACT(2): Mira lives in Port Salt.", "I see.", "Good.")
    happened = meanwhile("reading", lambda: edit(chat, 0, "FACT(2): Mira lives in Selby."))
    assert read(chat).state == "succeeded"
    assert happened == ["reading"]
    assert texts(chat) == ["Mira lives in Selby."]


def test_reading_twice_changes_nothing(owner: User) -> None:
    chat = tell(owner, *(text for text in STORY if not re.search("ARC|RESOLVED|OVER", text)))
    read(chat)
    rows = [row for row in told(chat) if row[0] != "digest"]
    read(chat, from_index=0)
    assert [row for row in told(chat) if row[0] != "digest"] == rows


def test_a_message_longer_than_the_context_is_read_in_parts(owner: User, server: ScriptedServer, connect: Any) -> None:
    connect(owner, name="Small", context_tokens=4096)
    change_settings(owner, {"reading": "one"})
    facts = [f"Trader{n} sells ware{n} near port{n}." for n in range(30)]
    lines = [f"FACT(2): {fact}\n{' '.join(WORDS * 8)}." for fact in facts]
    chat = tell(owner, "\n".join(lines), "I see.", "Good.")
    change_settings(owner, {"new_per_kind": 50})
    run = read(chat)
    assert run.state == "succeeded"
    readings = [request for request in server.of_kind("generation") if storyteller.task_of(request) == "reading"]
    assert len(readings) > 3
    assert all(sent_tokens([request]) < 4096 for request in readings)
    assert texts(chat, tier="long_term") == sorted(facts)
    assert Message.objects.for_owner(owner).get(chat=chat, index=0).progress.tiers
    assert settle(chat) == []


def test_a_message_of_which_one_part_is_refused_does_not_count_as_read(
    owner: User, server: ScriptedServer, connect: Any
) -> None:
    connect(owner, name="Small", context_tokens=4096)
    change_settings(owner, {"reading": "one"})
    lines = [f"FACT(2): Trader{n} sells ware{n} near port{n}.\n{' '.join(WORDS * 8)}." for n in range(30)]
    chat = tell(owner, "\n".join(lines), "I see.", "Good.")
    server.reply_to(lambda request: "Trader0 " in storyteller.value_of(request, "transcript"), Reply("No.", status=400))
    run = read(chat)
    assert (run.state, run.counts["refused"]) == ("succeeded", 1)
    progress = Message.objects.for_owner(owner).get(chat=chat, index=0).progress
    assert "long_term" in progress.refused
    assert "long_term" not in progress.tiers


def test_a_run_over_nothing_new_calls_no_model(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, *STORY)
    read(chat)
    server.requests.clear()
    run = read(chat)
    assert (run.state, server.of_kind("generation")) == (ExtractionRun.State.SUCCEEDED, [])


def test_a_memory_says_the_date_of_yesterday_where_its_message_has_a_time(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, "FACT(2): Tom sold the ferry yesterday.", "DETAIL(1): The lamp burnt last night.", "Good.")
    sent = {0: dt.datetime(2024, 3, 5, 12, tzinfo=dt.UTC), 1: dt.datetime(2024, 3, 6, 12, tzinfo=dt.UTC)}
    for index, sent_at in sent.items():
        Message.objects.for_owner(owner).filter(chat=chat, index=index).update(sent_at=sent_at)
    read(chat)
    assert "Tom sold the ferry yesterday (4 March 2024)." in texts(chat, tier="long_term")
    assert "The lamp burnt last night (5 March 2024)." in texts(chat, tier="session")
    prompt = next(request for request in server.of_kind("generation") if storyteller.task_of(request) == "reading")
    asked = "\n".join(message["content"] for message in prompt.messages)
    assert "(Tuesday, 5 March 2024)\n#0 Alice: FACT" in asked
    assert "(Wednesday, 6 March 2024)\n#1 Mira: DETAIL" in asked


def test_a_story_with_a_calendar_of_its_own_gets_no_dates(owner: User, server: ScriptedServer) -> None:
    change_settings(owner, {"dates": False})
    chat = tell(owner, "FACT(2): Tom sold the ferry yesterday.", "Good.")
    Message.objects.for_owner(owner).filter(chat=chat).update(sent_at=dt.datetime(2024, 3, 5, tzinfo=dt.UTC))
    read(chat)
    assert texts(chat, tier="long_term") == ["Tom sold the ferry yesterday."]
    assert not any("(Tuesday" in message["content"] for call in server.requests for message in call.messages)
