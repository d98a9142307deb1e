"""Tools of the model: what it may look up while it writes, how often, and that nothing it calls does harm."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.models import Chat
from apps.chats.operations import Patch, add_participant, append_messages, patch_messages
from apps.llm.models import Usage
from apps.llm.operations import create_connection, use_for
from apps.memories.models import Knowledge
from apps.memories.operations import NewMemory, create_memory
from apps.memories.operations.entities import get_or_create_entity
from apps.prompts.models import Recall
from apps.prompts.settings.stores import INJECTION_SETTINGS
from apps.replies.previews import preview_prompt
from apps.replies.tools.definitions import NAMES
from tests.factories import UserFactory, make_character, make_chat, parsed
from tests.llm.scripted_server import Reply, ScriptedServer, document
from tests.replies.test_generations import generate, last

SEARCH, READ = NAMES
UNCHECKED = Guard(optional=True)
FACT = "The silver key lies under the seventh stone of the well."


def search(query: str = "silver key", **fields) -> Reply:
    return Reply(tools=((SEARCH, json.dumps({"query": query})),), **fields)


def results(request) -> list[str]:
    return [message["content"] for message in request.messages if message["role"] == "tool"]


def lookups(chat: Chat) -> list[dict]:
    return [one for recall in Recall.objects.for_owner(chat.owner_id).filter(chat=chat) for one in recall.lookups]


@pytest.fixture
def connect(alice: User, server: ScriptedServer) -> Callable[..., None]:
    """Return a function that connects the server for replies alone: what is searched has vectors of our own model."""

    def connect(**fields: Any) -> None:
        given = {"name": "Scripted", "backend": "openai", "base_url": f"{server.url}/v1", "model": "scripted-small"}
        use_for(create_connection(alice, **(given | {"timeout": 20} | fields)), generation=True)

    return connect


@pytest.fixture
def tools(chat: Chat) -> None:
    create_memory(chat.owner, NewMemory(FACT, "long_term", "fact", character=chat.character), editor="alice")
    INJECTION_SETTINGS.change(chat.owner, {"memory_tools": True}, chat=chat)


def test_no_tools_are_offered_unless_they_are_set(connect, server, chat):
    connect()
    generate(chat)
    assert "tools" not in server.of_kind("generation")[0].body


@pytest.mark.parametrize("backend", ["openai", "ollama"])
@pytest.mark.parametrize("stream", [True, False])
def test_what_is_looked_up_is_a_result_and_on_the_card(connect, server, chat, tools, api, backend, stream):
    connect(backend=backend, stream=stream)
    server.reply_with(search(), "It lies under the seventh stone.")
    generation = generate(chat)
    first, second = server.of_kind("generation")
    assert [tool["function"]["name"] for tool in first.body["tools"]] == NAMES
    assert FACT in results(second)[0]
    assert last(chat).mes == "It lies under the seventh stone."
    assert generation.usage == {"prompt_tokens": 22, "completion_tokens": 14}
    usage = Usage.objects.for_owner(chat.owner_id).get()
    assert (usage.calls, usage.prompt_tokens, usage.completion_tokens) == (2, 22, 14)
    assert lookups(chat) == [{"tool": SEARCH, "query": "silver key", "found": 1}]
    (recall,) = api.get(f"/api/v1/chats/{chat.pk}/recalls/").json()["results"]
    assert recall["lookups"] == lookups(chat)


def test_earlier_messages_are_read_by_number(connect, server, chat, tools):
    connect()
    server.reply_with(Reply(tools=((READ, '{"first": 0, "count": 9}'),)), "There.")
    generate(chat)
    told = results(server.of_kind("generation")[1])[0]
    assert "#0" in told
    assert "Where is the well?" in told
    assert "Show me." not in told  # the turn itself


def test_what_is_kept_from_the_speaker_is_not_read(connect, server, chat, tools):
    """Nor found by a search."""
    tom = get_or_create_entity(chat, "Tom", "character")
    patch_messages(chat.owner, chat.pk, [Patch({"mes": "Where? Tom hid the ring in the mill."}, index=0)], UNCHECKED)
    Knowledge.objects.create(
        owner=chat.owner,
        chat=chat,
        source=chat.messages.get(index=1),
        kind="hiding",
        subject=tom,
        target=get_or_create_entity(chat, "Mira", "character"),
        text="The ring is hidden in the mill.",
    )
    connect()
    server.reply_with(Reply(tools=((READ, '{"first": 0, "count": 9}'),)), search("ring in the mill"), "There.")
    generate(chat)
    read, found = results(server.of_kind("generation")[2])
    assert "Over there." in read
    assert "ring" not in read + found


def test_what_is_said_before_a_call_stays(connect, server, chat, tools):
    connect(stream=True)
    server.reply_with(search(text="Let me think."), "Under the stone.")
    assert generate(chat).text == "Let me think.\n\nUnder the stone."
    assert last(chat).mes == "Let me think.\n\nUnder the stone."


def test_after_three_rounds_nothing_can_be_called(connect, server, chat, tools):
    connect()
    server.reply_with(*(search(f"key number {number}") for number in range(3)), "Enough.")
    assert generate(chat).text == "Enough."
    *rounds, final = server.of_kind("generation")
    assert [bool(request.body.get("tools")) for request in [*rounds, final]] == [True, True, True, False]
    assert all(message["role"] != "tool" for message in final.messages)
    assert FACT in final.messages[-1]["content"]


@pytest.mark.parametrize(
    ("call", "answer"),
    [
        (("drop_tables", "{}"), "no such tool"),
        ((SEARCH, '{"query": "the'), "one JSON object"),
        ((SEARCH, "[]"), "one JSON object"),
        ((SEARCH, "[" * 50_000), "one JSON object"),
        ((SEARCH, '{"query": 7}'), "query must be"),
        ((SEARCH, '{"query": "' + "x" * 100_000 + '"}'), "query must be"),
        ((SEARCH, "{}"), "query must be"),
        ((READ, '{"first": true, "count": 1}'), "first must be"),
        ((READ, '{"first": 1e400, "count": 1}'), "first must be"),
        ((READ, '{"first": 0, "count": 999}'), "count must be"),
        ((READ, '{"first": 5, "count": 0}'), "Nothing is known"),
        ((SEARCH, '{"query": "\\u0000\\ud800"}'), "query must be"),
    ],
)
def test_nonsense_is_answered_and_the_reply_follows(connect, server, chat, tools, call, answer):
    connect()
    server.reply_with(Reply(tools=(call,)), "Well.")
    assert generate(chat).text == "Well."
    second = server.of_kind("generation")[1]
    assert answer in results(second)[0]
    json.loads(second.messages[-2]["tool_calls"][0]["function"]["arguments"])


def test_a_call_that_is_repeated_is_not_made_again(connect, server, chat, tools):
    connect()
    server.reply_with(search(), search(), "Well.")
    generate(chat)
    assert "already" in results(server.of_kind("generation")[2])[1]
    assert len(lookups(chat)) == 1


def test_of_many_calls_at_once_four_are_made(connect, server, chat, tools):
    connect()
    server.reply_with(
        Reply(tools=tuple((SEARCH, json.dumps({"query": f"key {number}"})) for number in range(30))), "Well."
    )
    generate(chat)
    told = results(server.of_kind("generation")[1])
    assert len(told) == 30
    assert told[4:] == ["These are too many calls at once."] * 26
    assert len(lookups(chat)) == 4


@pytest.mark.parametrize(
    "refusal",
    [
        document({"error": {"message": "registry.local/tiny does not support tools"}}, 400),
        document({"error": {"message": "tools param requires --jinja flag"}}, 500),
    ],
)
def test_a_server_that_refuses_tools_is_asked_without_and_not_offered_them_again(connect, server, chat, tools, refusal):
    connect()
    server.reply_with(refusal, "Plain.", "Plain again.")
    assert generate(chat).text == "Plain."
    assert generate(chat, "swipe").text == "Plain again."
    assert [bool(request.body.get("tools")) for request in server.of_kind("generation")] == [True, False, False]


def test_a_server_that_refuses_the_request_without_tools_too_is_offered_them_again(connect, server, chat, tools):
    connect()
    refusal = document({"error": {"message": "An address is missing."}}, 400)
    server.reply_with(refusal, refusal, "Plain.")
    assert generate(chat).state == "failed"
    assert generate(chat).text == "Plain."
    assert [bool(request.body.get("tools")) for request in server.of_kind("generation")] == [True, False, True]


def test_a_server_that_refuses_results_gets_them_as_a_note(connect, server, chat, tools):
    connect()
    server.reply_with(search(), document({"error": {"message": "Missing thought_signature."}}, 400), "Found it.")
    assert generate(chat).text == "Found it."
    assert FACT in server.of_kind("generation")[2].messages[-1]["content"]


def test_a_failure_after_a_call_keeps_what_was_said(connect, server, chat, tools):
    connect(stream=True)
    server.reply_with(search(text="Let me think."), Reply(status=401))
    generation = generate(chat)
    assert (generation.state, generation.text) == ("failed", "Let me think.")


def test_a_model_that_only_calls_says_nothing(connect, server, chat, tools):
    connect()
    server.reply_with(*(search(f"key {number}") for number in range(4)))
    generation = generate(chat)
    assert (generation.state, generation.error) == ("failed", "The model said nothing.")
    assert last(chat).mes == "Show me."


def test_another_users_memory_is_not_found(connect, server, chat, tools):
    bob = UserFactory()
    theirs = make_chat(bob, "The silver key is mine.", character=make_character(bob))
    create_memory(bob, NewMemory("Bob's silver key is in the cellar.", "long_term", "fact", chat=theirs), editor="bob")
    connect()
    server.reply_with(search(), "Well.")
    generate(chat)
    told = results(server.of_kind("generation")[1])[0]
    assert FACT in told
    assert "cellar" not in told
    assert "mine" not in told


def test_a_lookup_without_a_recall_leaves_the_next_reply_its_own(connect, server, alice):
    """As of somebody who hears only later what the turn says: nothing was recalled for it before."""
    connect()
    group = make_chat(alice)
    members = [make_character(alice, name) for name in ("Mira", "Tom")]
    for member in members:
        add_participant(alice, group.pk, name=member.name, character=member)
    INJECTION_SETTINGS.change(alice, {"memory_tools": True}, chat=group)
    create_memory(alice, NewMemory(FACT, "long_term", "fact", character=members[1]), editor="alice")
    whisper = parsed("Where is the silver key?", is_user=True, extra={"loci": {"witnesses": ["Mira"]}})
    (asked,) = append_messages(alice, group.pk, [parsed("Hello, both.", is_user=True), whisper]).messages[-1:]
    server.reply_with(Reply(tools=((READ, '{"first": 0, "count": 9}'),)), "What?", "Under the stone.")
    generate(group, character=members[1])
    assert [one["found"] for one in lookups(group)] == [1]
    patch_messages(alice, group.pk, [Patch(id=asked.pk, extra={"loci": None})], UNCHECKED)
    generate(group, "swipe")
    assert FACT in server.of_kind("generation")[-1].prompt


def test_the_preview_keeps_the_room_for_lookups_free(connect, server, chat, tools):
    connect(context_tokens=2048)
    append_messages(chat.owner, chat.pk, [parsed("The well is deep. " * 40, is_user=True)] * 8, guard=UNCHECKED)

    def tokens() -> int:
        return preview_prompt(Chat.objects.for_owner(chat.owner_id).get(pk=chat.pk)).total_tokens

    with_tools = tokens()
    INJECTION_SETTINGS.change(chat.owner, {"memory_tools": False}, chat=chat)
    assert with_tools < tokens()
