"""Tools through the proxy: the client sees one reply, streamed or whole, whatever the model looks up before."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from openai import BadRequestError, OpenAI, RateLimitError

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.llm.models import Connection, Usage
from apps.llm.tokens import count_tokens
from apps.memories.operations import NewMemory, create_memory
from apps.prompts.models import Recall
from apps.prompts.settings.stores import INJECTION_SETTINGS
from tests.factories import make_character, make_chat, make_memory
from tests.llm.scripted_server import Reply, ScriptedServer, document
from tests.proxy.conftest import KEY, texts_of
from tests.proxy.test_proxy import until

pytestmark = pytest.mark.worker
Ask = Callable[..., Any]
FACT = "The silver key opens the lighthouse under the seventh stone."
HISTORY = ("The key is under the seventh stone.", "Hello.", "Where is the key?")


def search(query: str = "key", **fields: Any) -> Reply:
    return Reply(tools=(("search_memory", json.dumps({"query": query})),), **fields)


@pytest.fixture(autouse=True)
def tools(alice: User) -> None:
    INJECTION_SETTINGS.change(alice, {"memory_tools": True})


def begin(ask: Ask, alice: User) -> None:
    """Begin a chat in which something is remembered."""
    ask(HISTORY[0])
    chat = Chat.objects.for_owner(alice).get()
    create_memory(alice, NewMemory(FACT, "long_term", "fact", chat=chat), editor="alice")


def streamed(client: OpenAI, *texts: str, **options: Any) -> list[Any]:
    messages: list[Any] = [
        {"role": "assistant" if number % 2 else "user", "content": text} for number, text in enumerate(texts)
    ]
    return list(client.chat.completions.create(model="loci", messages=messages, stream=True, **options))


def text_in(chunks: list[Any]) -> str:
    return "".join(chunk.choices[0].delta.content or "" for chunk in chunks if chunk.choices)


def test_a_whole_reply_comes_after_its_lookups(ask: Ask, alice: User, upstream: ScriptedServer) -> None:
    begin(ask, alice)
    upstream.reply_with(search(), "Under the seventh stone.")
    response = ask(*HISTORY).parse()
    choice = response.choices[0]
    assert (choice.message.content, choice.message.tool_calls) == ("Under the seventh stone.", None)
    assert choice.finish_reason == "stop"
    assert (response.usage.prompt_tokens, response.usage.total_tokens) == (22, 36)
    assert texts_of(alice) == [[*HISTORY, "Under the seventh stone."]]
    asked, answered = upstream.of_kind("generation")[1:]
    assert [tool["function"]["name"] for tool in asked.body["tools"]] == ["search_memory", "read_messages"]
    assert "seventh stone" in answered.messages[-1]["content"]
    assert answered.messages[-1]["role"] == "tool"
    (lookups,) = Recall.objects.for_owner(alice).exclude(lookups=[]).values_list("lookups", flat=True)
    assert lookups == [{"tool": "search_memory", "query": "key", "found": 1}]
    until(lambda: Usage.objects.for_owner(alice).get().prompt_tokens == 33)


def test_a_stream_goes_on_after_its_lookups(client: OpenAI, ask: Ask, alice: User, upstream: ScriptedServer) -> None:
    ask(HISTORY[0])
    upstream.reply_with(search(text="Let me think."), "Under the seventh stone.")
    chunks = streamed(client, *HISTORY, stream_options={"include_usage": True})
    assert text_in(chunks) == "Let me think.\n\nUnder the seventh stone."
    assert not any(choice.delta.tool_calls for chunk in chunks for choice in chunk.choices)
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason] == ["stop"]
    assert [chunk.usage.prompt_tokens for chunk in chunks if chunk.usage] == [22]
    until(lambda: texts_of(alice) == [[*HISTORY, "Let me think.\n\nUnder the seventh stone."]])


def test_calls_without_end_end_after_three_rounds(
    client: OpenAI, ask: Ask, alice: User, upstream: ScriptedServer
) -> None:
    begin(ask, alice)
    upstream.reply_with(*(search(f"key {number}") for number in range(3)), "Enough.")
    assert text_in(streamed(client, *HISTORY)) == "Enough."
    requests = upstream.of_kind("generation")[1:]
    assert [bool(request.body.get("tools")) for request in requests] == [True, True, True, False]
    assert "What you looked up" in requests[-1].messages[-1]["content"]


def test_a_model_that_only_calls_says_nothing(client: OpenAI, ask: Ask, upstream: ScriptedServer) -> None:
    ask(HISTORY[0])
    upstream.reply_with(*(search(f"key {number}") for number in range(4)))
    chunks = streamed(client, *HISTORY)
    assert text_in(chunks) == ""
    assert [choice.finish_reason for chunk in chunks for choice in chunk.choices if choice.finish_reason] == ["stop"]


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_that_refuses_tools_replies_without(
    client: OpenAI, ask: Ask, upstream: ScriptedServer, stream: bool
) -> None:
    ask(HISTORY[0])
    upstream.reply_with(document({"error": {"message": "tools param requires --jinja flag"}}, 500), "Plain.")
    if stream:
        assert text_in(streamed(client, *HISTORY)) == "Plain."
    else:
        assert ask(*HISTORY).parse().choices[0].message.content == "Plain."


@pytest.mark.parametrize(("answer", "is_offered"), [("Plain.", False), (Reply(status=400), True)])
def test_tools_are_given_up_once_a_request_without_them_succeeds(
    ask: Ask, upstream: ScriptedServer, answer: str | Reply, is_offered: bool
) -> None:
    ask(HISTORY[0])
    upstream.reply_with(Reply(status=400), answer)
    with suppress(BadRequestError):
        ask(*HISTORY)
    ask(*HISTORY)
    requests = upstream.of_kind("generation")[1:]
    assert [bool(request.body.get("tools")) for request in requests] == [True, False, is_offered]


def test_other_errors_come_back_as_they_are(ask: Ask, upstream: ScriptedServer) -> None:
    ask(HISTORY[0])
    upstream.reply_with(document({"error": {"message": "Slow down."}}, 429))
    with pytest.raises(Exception, match=r"Slow down\."):
        ask(*HISTORY)


def test_an_error_after_a_lookup_is_told_in_the_stream(client: OpenAI, ask: Ask, upstream: ScriptedServer) -> None:
    ask(HISTORY[0])
    upstream.reply_with(search(), document({"error": {"message": "Slow down."}}, 429))
    with pytest.raises(Exception, match=r"Slow down\."):
        streamed(client, *HISTORY)


def test_an_error_after_a_lookup_of_a_whole_reply_keeps_its_status(
    ask: Ask, alice: User, upstream: ScriptedServer
) -> None:
    """What the lookup has cost is counted nevertheless."""
    ask(HISTORY[0])
    until(lambda: Usage.objects.for_owner(alice).filter(prompt_tokens=11).exists())
    echo = f"Slow down, {KEY}."
    upstream.reply_with(
        search(), document({"error": {"message": echo, "code": "busy"}}, 429, headers={"Retry-After": "7"})
    )
    with pytest.raises(RateLimitError, match=r"Slow down") as raised:
        ask(*HISTORY)
    assert raised.value.response.headers["Retry-After"] == "7"
    assert raised.value.code == "busy"
    assert KEY not in raised.value.response.text
    assert Usage.objects.for_owner(alice).get().prompt_tokens == 22
    assert texts_of(alice) == [[*HISTORY]]


@pytest.mark.parametrize("stream", [True, False])
def test_a_server_that_refuses_what_was_found_replies_without(
    client: OpenAI, ask: Ask, alice: User, upstream: ScriptedServer, stream: bool
) -> None:
    """As too long, once with the calls and once as a note."""
    begin(ask, alice)
    too_long = document({"error": {"message": "The request exceeds the available context size."}}, 400)
    upstream.reply_with(search(), too_long, too_long, "Plain.")
    reply = text_in(streamed(client, *HISTORY)) if stream else ask(*HISTORY).parse().choices[0].message.content
    assert reply == "Plain."
    noted, plain = upstream.of_kind("generation")[-2:]
    assert "What you looked up" in noted.prompt
    assert plain.messages == noted.messages[:-1]


@pytest.mark.parametrize(("words", "is_offered"), [(300, True), (1020, True), (1500, False), (9000, False)])
def test_what_is_looked_up_has_room_in_the_context(
    ask: Ask, alice: User, upstream: ScriptedServer, connection: Connection, words: int, is_offered: bool
) -> None:
    """Beside what is remembered."""
    connection.context_tokens = 2048
    connection.save()
    chat = make_chat(alice, "Hi", "Hello", character=make_character(alice, "Mira"))
    for number in range(40):
        place = "under a blue stone " * 12
        make_memory(chat, f"Mira keeps the silver key number {number} {place} beside the well.")
    read = Reply(tools=(("read_messages", '{"first": 0, "count": 20}'),))
    upstream.reply_with(*([read] if is_offered else []), "There.")
    turns = [f"{number}: " + "the long road " * (words // 60) for number in range(20)]
    ask(*turns, "Where is the silver key?", system="You are Mira.")
    requests = upstream.of_kind("generation")
    assert [bool(request.body.get("tools")) for request in requests] == [is_offered] * len(requests)
    if is_offered:
        assert "silver key number" in requests[0].prompt
        assert "the long road" in requests[1].messages[-1]["content"]
        assert count_tokens(json.dumps([requests[1].messages, requests[1].body["tools"]])) <= 2048


def test_broken_calls_are_harmless(client: OpenAI, ask: Ask, upstream: ScriptedServer) -> None:
    ask(HISTORY[0])
    upstream.reply_with(Reply(tools=(("nonsense", "{"), ("search_memory", '{"query": [1'))), "Well.")
    assert text_in(streamed(client, *HISTORY)) == "Well."


def test_a_client_with_tools_of_its_own_gets_none_of_ours(ask: Ask, upstream: ScriptedServer) -> None:
    ask(HISTORY[0])
    own = {"type": "function", "function": {"name": "weather", "parameters": {"type": "object", "properties": {}}}}
    upstream.reply_with(Reply(tools=(("weather", "{}"),)))
    message = ask(*HISTORY, tools=[own]).parse().choices[0].message
    assert message.tool_calls[0].function.name == "weather"
    assert upstream.of_kind("generation")[-1].body["tools"] == [own]


def test_nothing_is_offered_unless_it_is_set(ask: Ask, alice: User, upstream: ScriptedServer) -> None:
    INJECTION_SETTINGS.change(alice, {"memory_tools": False})
    ask(*HISTORY)
    assert "tools" not in upstream.requests[-1].body
