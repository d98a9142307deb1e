"""Runs on a server that constrains replies, and on the worst one, which promised to and then does anything."""

import json
from collections.abc import Iterator

import pytest

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.extraction.models import ModelCall
from apps.extraction.prompts.rendering import set_template
from apps.extraction.settings.stores import change_settings
from apps.llm.models import Connection
from apps.llm.operations import create_connection, record_check, use_for
from apps.memories.models import Memory
from tests.extraction.engine.story import read, tell
from tests.factories import UserFactory
from tests.lanes import further
from tests.llm.scripted_server import Answer, Reply, ScriptedServer
from tests.llm.test_constrained import is_constrained, schema_in

FACTS = ("Alice moved to Lyon.", "Mira has a dog named Rex.")
LINES = "\n".join(f"[fact:3:source={number}] {text}" for number, text in enumerate(FACTS))
OBJECTS = json.dumps([{"kind": "fact", "importance": 3, "source": [n], "text": text} for n, text in enumerate(FACTS)])


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    with ScriptedServer(LINES) as server:
        yield server


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


@pytest.fixture
def promised(owner: User, server: ScriptedServer) -> Connection:
    made = create_connection(owner, name="Scripted", base_url=server.url, model="scripted-large", timeout=5)
    use_for(made, generation=True)
    record_check(made, "", True)
    change_settings(owner, {"index_messages": False})
    return made


def chat_of(owner: User) -> Chat:
    return tell(owner, "I moved to Lyon.", "*Mira smiles.* My dog Rex would love it there.", "He would.", "And now?")


def texts_of(chat: Chat) -> set[str]:
    return set(Memory.objects.for_owner(chat.owner_id).active().filter(tier="long_term").values_list("text", flat=True))


@pytest.mark.parametrize("reading", ["one", "separate"])
def test_constrained_lines_become_memories(
    owner: User, promised: Connection, server: ScriptedServer, reading: str
) -> None:
    change_settings(owner, {"reading": reading})
    server.reply_to(is_constrained, '{"lines": []}')
    server.reply_to(
        lambda request: is_constrained(request) and "fact|" in json.dumps(schema_in(request)),
        json.dumps({"lines": LINES.split("\n")}),
    )
    chat = chat_of(owner)
    assert read(chat).state == "succeeded"
    assert texts_of(chat) == set(FACTS)
    assert all("{" not in call.reply for call in ModelCall.objects.for_owner(owner))
    promised.refresh_from_db()
    assert promised.constrains_replies


WORST: dict[str, Answer] = {
    "a refusal": Reply("response_format is not supported", status=400),
    "a crash": Reply("KeyError: 'json_schema'", status=500),
    "lines all the same": LINES,
    "another schema": OBJECTS,
    "prose and a fence": f"Sure! Here are the notes:\n\n```\n{LINES}\n```\nAnything else?",
    "nothing": Reply(""),
    "white space": Reply('{"lines": [' + " \n" * 400, finish_reason="length", usage=(20, 900)),
    "a refusal in words": "I'm sorry, but I can't help with that.",
    "lines without the form": json.dumps({"lines": ["Mira is nice.", "Alice is here."]}),
}


TRIED = ("a crash", "another schema", "white space", "lines without the form")  # one of each way to break it


@pytest.mark.parametrize("kind", [kind if kind in TRIED else further(kind) for kind in WORST])
def test_no_run_fails_by_a_broken_promise(owner: User, promised: Connection, server: ScriptedServer, kind: str) -> None:
    answer = WORST[kind]
    change_settings(owner, {"reading": "one"})
    server.reply_to(is_constrained, answer)
    chat = chat_of(owner)
    run = read(chat)
    assert (run.state, run.error) == ("succeeded", "")
    assert texts_of(chat) == set(FACTS)
    server.requests.clear()
    assert read(chat_of(owner)).state == "succeeded"
    asked_again = any(map(is_constrained, server.requests))
    assert asked_again == (kind == "lines without the form"), "what a server keeps to is a form, not its sense"


def test_an_own_template_asks_for_its_own_lines(owner: User, promised: Connection, server: ScriptedServer) -> None:
    set_template(owner, "reading", "{{forms}} {{transcript}} Write what you like.")
    change_settings(owner, {"reading": "one"})
    read(chat_of(owner))
    assert server.requests
    assert not any(map(is_constrained, server.requests))
