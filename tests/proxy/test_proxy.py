"""The proxy as OpenAI's SDK and other clients see it, over HTTP, with a scripted model server behind it."""

import gzip
import json
import shutil
import subprocess
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx2
import openai
import pytest
from openai import AsyncOpenAI, OpenAI

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.message_data.namespaces import is_partial
from apps.chats.models import Chat, Message
from apps.llm.models import Connection, Usage
from apps.llm.operations import create_connection, delete_connection, set_daily_limit
from apps.llm.tokens import count_tokens, token_counter
from apps.prompts.models import Recall
from apps.proxy.memory import with_slots
from tests.conftest import WebServer, missing
from tests.coroutines import in_thread
from tests.factories import UserFactory, make_character, make_chat, make_memory
from tests.llm.scripted_server import Reply, ScriptedServer, document
from tests.proxy.conftest import KEY, texts_of

pytestmark = pytest.mark.worker
Ask = Callable[..., Any]


def until(condition: Callable[[], bool]) -> None:
    """Wait for what is stored after the last byte of a response."""
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline, "it does not become true"
        time.sleep(0.05)


def test_a_reply_is_passed_on_and_stored_with_its_turn(ask: Ask, alice: User, upstream: ScriptedServer) -> None:
    response = ask("Who are you?")
    assert response.parse().choices[0].message.content == "Hello."
    assert response.headers["X-Loci-Chat"] == str(Chat.objects.for_owner(alice).get().pk)
    assert texts_of(alice) == [["Who are you?", "Hello."]]
    assert upstream.requests[-1].headers["authorization"] == f"Bearer {KEY}"
    assert upstream.requests[-1].body["model"] == "scripted-small"
    usage = Usage.objects.for_owner(alice).get()
    assert (usage.prompt_tokens, usage.completion_tokens) == (11, 7)


def test_the_next_request_continues_the_chat(ask: Ask, alice: User, upstream: ScriptedServer) -> None:
    ask("Who are you?")
    upstream.reply_with("In the harbour.")
    ask("Who are you?", "Hello.", "Where am I?")
    assert texts_of(alice) == [["Who are you?", "Hello.", "Where am I?", "In the harbour."]]


def test_a_regenerated_reply_becomes_another_swipe(ask: Ask, alice: User, upstream: ScriptedServer) -> None:
    ask("Who are you?")
    upstream.reply_with("I am Mira.")
    ask("Who are you?")
    reply = Message.objects.for_owner(alice).get(index=1)
    assert [swipe.mes for swipe in reply.ordered_swipes] == ["Hello.", "I am Mira."]
    ask("Who are you?", "Hello.", "And now?")
    assert texts_of(alice) == [["Who are you?", "Hello.", "And now?", "Hello."]]


def test_an_earlier_point_continues_in_a_branch(ask: Ask, alice: User, upstream: ScriptedServer) -> None:
    upstream.reply_with("b", "d", "f", "D")
    ask("a")
    ask("a", "b", "c")
    ask("a", "b", "c", "d", "e")
    response = ask("a", "b", "C")
    assert texts_of(alice) == [["a", "b", "c", "d", "e", "f"], ["a", "b", "C", "D"]]
    assert response.headers["X-Loci-Chat"] == str(Chat.objects.for_owner(alice).latest("pk").pk)


def test_a_named_chat_follows_the_client(ask: Ask, alice: User, upstream: ScriptedServer) -> None:
    chat = make_chat(alice, "a", "b", "c", "d", "e", "f")
    upstream.reply_with("D")
    ask("a", "b", "C", extra_headers={"X-Loci-Chat": str(chat.pk)})
    assert texts_of(alice) == [["a", "b", "C", "D"]]


def test_a_stream_arrives_piece_by_piece_and_is_stored(client: OpenAI, alice: User, upstream: ScriptedServer) -> None:
    upstream.reply_with(Reply(text="A long reply in pieces.", pace=0.2, piece=6))
    begun = time.monotonic()
    stream = client.chat.completions.create(model="x", messages=[{"role": "user", "content": "Go"}], stream=True)
    times, texts = [], []
    for chunk in stream:
        times.append(time.monotonic() - begun)
        texts += [choice.delta.content or "" for choice in chunk.choices]
    assert "".join(texts) == "A long reply in pieces."
    assert times[-1] - times[0] > 0.5
    until(lambda: texts_of(alice) == [["Go", "A long reply in pieces."]])


def test_the_async_sdk_streams(client: OpenAI, secret: str, web_server: WebServer) -> None:
    async def collect() -> str:
        sdk = AsyncOpenAI(base_url=f"{web_server.url}/v1", api_key=secret)
        stream = await sdk.chat.completions.create(model="x", messages=[{"role": "user", "content": "Go"}], stream=True)
        return "".join([choice.delta.content or "" async for chunk in stream for choice in chunk.choices])

    assert in_thread(collect) == "Hello."


def test_memory_of_an_earlier_conversation_reaches_the_model(ask: Ask, alice: User, upstream: ScriptedServer) -> None:
    character = make_character(alice, "Mira")
    make_memory(make_chat(alice, "Hi", "Hello", character=character), "The silver key opens the lighthouse.")
    response = ask("Where does the silver key fit?", system="You are Mira.")
    sent = upstream.of_kind("generation")[-1].messages
    assert sent[0] == {"role": "system", "content": "You are Mira."}
    assert any("The silver key opens the lighthouse." in message["content"] for message in sent[1:])
    assert sent[-1]["content"] == "Where does the silver key fit?"
    assert response.headers["X-Loci-Memory"] == "on"
    assert Recall.objects.for_owner(alice).filter(message__chat=response.headers["X-Loci-Chat"]).exists()


def test_a_macro_in_the_system_prompt_is_replaced(ask: Ask, alice: User, upstream: ScriptedServer) -> None:
    character = make_character(alice, "Mira")
    make_memory(make_chat(alice, "Hi", "Hello", character=character), "The silver key opens the lighthouse.")
    ask("Where does the silver key fit?", system="You are Mira. {{ SmartMemory-Longterm }}")
    sent = upstream.of_kind("generation")[-1].messages
    assert "lighthouse" in sent[0]["content"]
    assert "{{" not in sent[0]["content"]


def test_a_macro_in_locis_own_card_leaves_the_slot_in_place(ask: Ask, alice: User, upstream: ScriptedServer) -> None:
    character = make_character(alice, "Mira", description="{{smartmemory-longterm}}")
    make_memory(make_chat(alice, "Hi", "Hello", character=character), "The silver key opens the lighthouse.")
    ask("Where does the silver key fit?", system="You are Mira.")
    assert "lighthouse" in str(upstream.of_kind("generation")[-1].messages)


def test_memory_is_counted_for_the_model_that_the_proxy_asks(ask: Ask, alice: User, connection: Connection) -> None:
    """Also in a chat that names another one for the replies on its page."""
    chat = make_chat(alice, "Hi", "Hello", character=make_character(alice, "Mira"))
    make_memory(chat, "The silver key opens the lighthouse.")
    other = create_connection(alice, name="Desk", base_url=connection.base_url, model="gpt-4o")
    Chat.objects.for_owner(alice).filter(pk=chat.pk).update(connection=other)
    ask("Hi", "Hello", "Where does the silver key fit?", extra_headers={"X-Loci-Chat": str(chat.pk)})
    recall = Recall.objects.for_owner(alice).get(chat=chat)
    assert recall.tokens == token_counter(connection.model)(recall.text) > count_tokens(recall.text)


@pytest.mark.parametrize("max_tokens", [None, 300, 5000])
def test_memory_takes_no_more_than_the_clients_messages_and_the_reply_leave(
    ask: Ask, alice: User, upstream: ScriptedServer, connection: Connection, max_tokens: int | None
) -> None:
    connection.context_tokens = 2048
    connection.save()
    chat = make_chat(alice, "Hi", "Hello", character=make_character(alice, "Mira"))
    for number in range(40):
        make_memory(chat, f"Mira keeps the silver key number {number} under a blue stone beside the well of her uncle.")
    text = "the long road goes on and on " * 200
    ask(text, system="You are Mira.", **({"max_tokens": max_tokens} if max_tokens else {}))
    sent = upstream.of_kind("generation")[-1].messages
    total = sum(count_tokens(message["content"]) for message in sent)
    assert total + (max_tokens or 0) <= max(2048, count_tokens(text) + 10 + (max_tokens or 0))
    assert (len(sent) > 2) == (max_tokens != 5000)


def test_a_macro_inside_a_memory_is_left_as_it_is() -> None:
    macros = {"smartmemory-longterm": "- She wrote {{smartmemory-canon}}.", "smartmemory-canon": "the canon"}
    system = {"role": "system", "content": "{{smartmemory-longterm}} {{smartmemory-canon}}"}
    sent = with_slots([system, {"role": "user", "content": "Hi"}], [], macros)
    assert sent[0]["content"] == "- She wrote {{smartmemory-canon}}. the canon"


@pytest.mark.parametrize(
    "options",
    [
        {"extra_headers": {"X-Loci-Memory": "off"}},
        {"response_format": {"type": "json_object"}},
        {"max_tokens": 20},
    ],
)
def test_a_call_that_the_client_makes_for_itself_is_passed_on_untouched(
    ask: Ask, alice: User, upstream: ScriptedServer, options: dict[str, Any]
) -> None:
    response = ask("Name this chat.", **options)
    assert response.headers["X-Loci-Memory"] == "off"
    assert texts_of(alice) == []
    assert upstream.requests[-1].messages == [{"role": "user", "content": "Name this chat."}]


@pytest.mark.parametrize("withheld", [False, True])
def test_a_request_for_a_title_that_quotes_the_chat_is_not_stored(ask: Ask, alice: User, withheld: bool) -> None:
    """Clients quote what moderators have withheld too: they keep texts of their own."""
    ask("Tell me about the lighthouse keeper.")
    Message.objects.for_owner(alice).filter(index=1).update(withheld=withheld)
    ask("Write a title for:\nUSER: Tell me about the lighthouse keeper.\nASSISTANT: Hello.")
    assert texts_of(alice) == [["Tell me about the lighthouse keeper.", "Hello."]]


def test_unknown_fields_images_and_tools_are_passed_on(client: OpenAI, upstream: ScriptedServer) -> None:
    content: Any = [
        {"type": "text", "text": "What is it?"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
    ]
    tool: Any = {"type": "function", "function": {"name": "roll", "parameters": {"type": "object"}}}
    messages: Any = [{"role": "user", "content": content}]
    client.chat.completions.create(
        model="x", messages=messages, tools=[tool], logprobs=True, n=2, extra_body={"min_p": 0.1}
    )
    body = upstream.requests[-1].body
    assert (body["tools"], body["logprobs"], body["n"], body["min_p"]) == ([tool], True, 2, 0.1)
    assert body["messages"][-1]["content"] == content


def test_a_call_of_a_tool_and_the_reply_after_it_are_one_message(
    client: OpenAI, alice: User, upstream: ScriptedServer
) -> None:
    call: Any = {"id": "c1", "type": "function", "function": {"name": "roll", "arguments": '{"sides": 6}'}}
    message = {"role": "assistant", "content": None, "tool_calls": [call]}
    choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
    upstream.reply_with(document({"object": "chat.completion", "choices": [choice]}), "A six!")
    messages: list[Any] = [{"role": "user", "content": "Roll."}]
    client.chat.completions.create(model="x", messages=messages)
    messages += [message, {"role": "tool", "tool_call_id": "c1", "content": "6"}]
    client.chat.completions.create(model="x", messages=messages)
    assert texts_of(alice) == [["Roll.", "A six!"]]
    stored = Message.objects.for_owner(alice).get(index=1).extra["loci"]["tools"]
    assert stored == [{"id": "c1", "name": "roll", "arguments": '{"sides": 6}', "result": "6"}]


def test_an_error_of_the_upstream_keeps_its_status_and_hides_the_key(ask: Ask, upstream: ScriptedServer) -> None:
    upstream.reply_with(Reply(text=f"Incorrect key {KEY}", status=401))
    with pytest.raises(openai.AuthenticationError) as raised:
        ask("Hi")
    assert "Incorrect key" in raised.value.message
    assert KEY not in raised.value.message


def test_an_error_of_the_upstream_says_when_to_retry(ask: Ask, upstream: ScriptedServer) -> None:
    upstream.reply_with(Reply(status=429, headers={"Retry-After": "7"}))
    with pytest.raises(openai.RateLimitError) as raised:
        ask("Hi")
    assert raised.value.response.headers["Retry-After"] == "7"


def test_a_compressed_request_is_read_or_refused_in_words(
    web_server: WebServer, connection: Connection, secret: str, alice: User
) -> None:
    body = json.dumps({"messages": [{"role": "user", "content": "Hi"}]}).encode()
    headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
    url = f"{web_server.url}/v1/chat/completions"
    reply = httpx2.post(url, content=gzip.compress(body), headers=headers | {"Content-Encoding": "gzip"}, timeout=60)
    assert reply.json()["choices"][0]["message"]["content"] == "Hello."
    assert texts_of(alice) == [["Hi", "Hello."]]
    for encoding, status in (("zstd", 415), ("gzip", 400)):
        reply = httpx2.post(url, content=body, headers=headers | {"Content-Encoding": encoding}, timeout=60)
        assert reply.status_code == status
        assert "compress" in reply.json()["error"]["message"] or encoding in reply.json()["error"]["message"]


@pytest.mark.parametrize("is_stream", [True, False])
def test_a_server_that_always_compresses_is_understood(
    ask: Ask, alice: User, upstream: ScriptedServer, *, is_stream: bool
) -> None:
    part = {"delta" if is_stream else "message": {"role": "assistant", "content": "Hello."}, "finish_reason": "stop"}
    written = json.dumps({"object": "chat.completion", "choices": [{"index": 0, **part}]})
    body = gzip.compress((f"data: {written}\n\ndata: [DONE]\n\n" if is_stream else written).encode())
    kind = "text/event-stream" if is_stream else "application/json"
    upstream.reply_with(Reply(raw=body, content_type=kind, headers={"Content-Encoding": "gzip"}))
    response = ask("Hi", stream=is_stream)
    assert "Hello." in str(list(response.parse()) if is_stream else response.parse())
    until(lambda: texts_of(alice) == [["Hi", "Hello."]])


def test_a_compressed_error_is_told_in_words(ask: Ask, upstream: ScriptedServer) -> None:
    body = gzip.compress(b'{"error": {"message": "The context is too long."}}')
    upstream.reply_with(Reply(raw=body, status=400, headers={"Content-Encoding": "gzip"}))
    with pytest.raises(openai.BadRequestError) as raised:
        ask("Hi")
    assert "The context is too long." in raised.value.message


def test_a_retry_after_an_error_stores_the_turn_once(ask: Ask, alice: User, upstream: ScriptedServer) -> None:
    upstream.reply_with(Reply(status=500))
    with pytest.raises(openai.InternalServerError):
        ask("Hi")
    ask("Hi")
    assert texts_of(alice) == [["Hi", "Hello."]]


def test_a_silent_upstream_is_a_timeout(ask: Ask, upstream: ScriptedServer, connection: Connection) -> None:
    connection.timeout = 1
    connection.save()
    upstream.reply_with(Reply(text="late", delay=30))
    with pytest.raises(openai.InternalServerError) as raised:
        ask("Hi")
    assert raised.value.status_code == 504


@pytest.mark.parametrize("fault", [{"break_after": 5}, {"stall_after": 5}])
def test_a_reply_that_breaks_off_is_kept_as_partial(
    client: OpenAI, alice: User, upstream: ScriptedServer, connection: Connection, fault: dict[str, int]
) -> None:
    connection.timeout = 1
    connection.save()
    upstream.reply_with(Reply(text="A long reply that breaks off in the middle.", piece=6, **fault))
    with pytest.raises(openai.APIError):
        list(client.chat.completions.create(model="x", messages=[{"role": "user", "content": "Go"}], stream=True))
    until(lambda: Message.objects.for_owner(alice).count() == 2)
    reply = Message.objects.for_owner(alice).get(index=1)
    assert "A long reply that breaks off".startswith(reply.mes)
    assert reply.mes
    assert reply.is_partial
    client.chat.completions.create(model="x", messages=[{"role": "user", "content": "Go"}])
    assert texts_of(alice) == [["Go", "Hello."]]
    reply = Message.objects.for_owner(alice).get(index=1)
    assert [is_partial(swipe.extra) for swipe in reply.swipes.order_by("position")] == [True, False]


@pytest.mark.parametrize("end", ["", "data: [DONE]\n\n"])
def test_an_error_in_mid_stream_leaves_a_partial_reply_which_a_retry_replaces(
    ask: Ask, alice: User, upstream: ScriptedServer, end: str
) -> None:
    beginning = {"choices": [{"index": 0, "delta": {"content": "The key hangs"}, "finish_reason": None}]}
    error = {"error": {"message": "overloaded"}, "choices": [{"index": 0, "delta": {}, "finish_reason": "error"}]}
    body = "".join(f"data: {json.dumps(document)}\n\n" for document in (beginning, error)) + end
    upstream.reply_with(Reply(raw=body.encode(), content_type="text/event-stream"))
    with pytest.raises(openai.APIError):
        list(ask("Where is the key?", stream=True).parse())
    until(lambda: Message.objects.for_owner(alice).filter(is_user=False).exists())
    reply = Message.objects.for_owner(alice).get(is_user=False)
    assert (reply.mes, reply.is_partial) == ("The key hangs", True)
    upstream.reply_with("The key hangs by the door.")
    ask("Where is the key?")
    reply = Message.objects.for_owner(alice).get(is_user=False)
    assert (reply.mes, reply.is_partial) == ("The key hangs by the door.", False)
    assert reply.swipes.count() == 1


def test_what_came_before_the_client_went_away_is_kept(client: OpenAI, alice: User, upstream: ScriptedServer) -> None:
    upstream.reply_with(Reply(text="word " * 200, pace=0.1, piece=5))
    stream = client.chat.completions.create(model="x", messages=[{"role": "user", "content": "Go"}], stream=True)
    for number, _ in enumerate(stream):
        if number == 5:
            break
    stream.close()
    until(lambda: Message.objects.for_owner(alice).count() == 2)
    reply = Message.objects.for_owner(alice).get(index=1)
    assert 0 < len(reply.mes) < 900
    assert reply.extra["loci"]["partial"] is True


def test_the_same_request_twice_at_once_makes_one_chat(ask: Ask, alice: User, upstream: ScriptedServer) -> None:
    upstream.reply_with(Reply(text="Hello.", delay=0.5), Reply(text="Hello.", delay=0.5))
    threads = [threading.Thread(target=ask, args=("Hi",)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert texts_of(alice) == [["Hi", "Hello."]]


def test_without_a_valid_token_the_answer_is_401(client: OpenAI, web_server: WebServer) -> None:
    with pytest.raises(openai.AuthenticationError, match="unknown, revoked or expired"):
        client.with_options(api_key="loci_wrong").models.list()
    assert httpx2.get(f"{web_server.url}/v1/models").status_code == 401


def test_a_token_that_may_only_read_is_refused(client: OpenAI, alice: User) -> None:
    reading = create_token(alice, name="Reader", scope="read")[1]
    with pytest.raises(openai.PermissionDeniedError):
        client.with_options(api_key=reading).models.list()


def test_the_chat_of_somebody_else_is_not_found(ask: Ask) -> None:
    foreign = make_chat(UserFactory(), "Hi", "Hello")
    with pytest.raises(openai.NotFoundError):
        ask("Hi", extra_headers={"X-Loci-Chat": str(foreign.pk)})
    with pytest.raises(openai.NotFoundError):
        ask("Hi", extra_headers={"X-Loci-Chat": "nonsense"})


def test_without_a_connection_the_error_says_where_to_connect_one(ask: Ask, connection: Connection) -> None:
    delete_connection(connection)
    with pytest.raises(openai.BadRequestError, match="Settings, Models"):
        ask("Hi")


def test_the_daily_limit_is_a_429(ask: Ask, alice: User) -> None:
    set_daily_limit(alice, 10)
    ask("Hi")
    with pytest.raises(openai.RateLimitError):
        ask("Hi", "Hello.", "More")


@pytest.mark.parametrize(
    ("body", "param"),
    [
        ({}, "messages"),
        ({"messages": []}, "messages"),
        ({"messages": [{"role": "wizard", "content": "Hi"}]}, "messages/0/role"),
        ({"messages": [{"role": "user", "content": 5}]}, "messages/0/content"),
        ({"messages": [{"role": "assistant", "tool_calls": "no"}]}, "messages/0/tool_calls"),
        ({"messages": [{"role": "assistant", "function_call": "no"}]}, "messages/0/function_call"),
        ({"messages": [{"role": "user", "content": ""}] * 10_001}, "messages"),
    ],
)
def test_bad_input_is_a_400_that_names_the_field(
    client: OpenAI, secret: str, web_server: WebServer, body: dict[str, Any], param: str
) -> None:
    url, headers = f"{web_server.url}/v1/chat/completions", {"Authorization": f"Bearer {secret}"}
    response = httpx2.post(url, json=body, headers=headers)
    assert response.status_code == 400
    assert response.json()["error"]["param"] == param
    assert httpx2.post(url, content=b"{", headers=headers).status_code == 400


def test_models_are_listed_and_may_be_chosen(client: OpenAI, upstream: ScriptedServer) -> None:
    assert [model.id for model in client.models.list()] == ["scripted-small", "scripted-large"]
    client.chat.completions.create(model="scripted-large", messages=[{"role": "user", "content": "Hi"}])
    assert upstream.requests[-1].body["model"] == "scripted-large"


def test_curl_receives_the_events_as_the_model_server_sent_them(
    client: OpenAI, secret: str, web_server: WebServer, upstream: ScriptedServer
) -> None:
    curl = shutil.which("curl")
    if curl is None:
        missing("curl is not installed.")
    events = b': comment\n\ndata: {"choices":[{"index":0,"delta":{"content":"Hi"}}],"odd":1.0}\n\ndata: [DONE]\n\n'
    upstream.reply_with(Reply(raw=events, content_type="text/event-stream"))
    body = '{"stream": true, "messages": [{"role": "user", "content": "Hi"}]}'
    command = [curl, "-sN", f"{web_server.url}/v1/chat/completions", "-H", f"Authorization: Bearer {secret}"]
    assert subprocess.run([*command, "-d", body], capture_output=True, check=True).stdout == events
