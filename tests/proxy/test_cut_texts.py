"""Texts that a client cut anywhere, and messages that say nothing."""

import json
from typing import Any

import httpx2
import pytest
from openai import OpenAI

from apps.accounts.models import User
from apps.chats.operations import append_messages
from tests.conftest import WebServer
from tests.factories import UserFactory, make_chat, parsed
from tests.llm.scripted_server import ScriptedServer
from tests.prompts.requests import assemble_whole
from tests.proxy.conftest import texts_of


@pytest.fixture
def post(web_server: WebServer, connection: Any, secret: str) -> Any:
    """Return a function that posts a body as it is, and returns the response."""

    def post(body: bytes) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {secret}", "Content-Type": "application/json"}
        return httpx2.post(f"{web_server.url}/v1/chat/completions", content=body, headers=headers, timeout=30)

    return post


def body_of(*texts: str) -> bytes:
    messages = [
        {"role": "user" if place % 2 == 0 else "assistant", "content": text} for place, text in enumerate(texts)
    ]
    return json.dumps({"model": "x", "messages": messages}).encode()  # halves of characters become \ud83d


@pytest.mark.parametrize(
    ("sent", "stored"),
    [
        (b"We met \\ud83d half-way.", "We met \ufffd half-way."),
        (b"We met half-way \\ude00", "We met half-way \ufffd"),
        (b"We met\\u0000 half-way.", "We met\ufffd half-way."),
        (b"We met \xf0\x9f half-way.", "We met \ufffd half-way."),
        (b"We met \\ud83d\\ude00 half-way.", "We met \U0001f600 half-way."),
    ],
)
def test_half_a_character_in_a_history_is_replaced_and_the_chat_goes_on(
    post: Any, alice: User, upstream: ScriptedServer, sent: bytes, stored: str
) -> None:
    for texts in (["PLACE"], ["PLACE", "Hello.", "Where is the lamp?"]):
        assert post(body_of(*texts).replace(b"PLACE", sent)).status_code == 200
    assert texts_of(alice) == [[stored, "Hello.", "Where is the lamp?", "Hello."]]
    assert [message["content"] for message in upstream.requests[-1].messages if message["role"] == "user"] == [
        stored,
        "Where is the lamp?",
    ]


def test_a_body_that_is_too_deep_is_still_refused(post: Any) -> None:
    deep = b'{"messages": [{"role": "user", "content": "a\\u0000"}], "x": ' + b"[" * 100 + b"]" * 100 + b"}"
    response = post(deep)
    assert response.status_code == 400
    assert "nested" in response.json()["error"]["message"]


def test_messages_that_say_nothing_are_not_sent(client: OpenAI, alice: User, upstream: ScriptedServer) -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    call = {"id": "c1", "type": "function", "function": {"name": "roll", "arguments": "{}"}}
    kept: list[Any] = [
        {"role": "user", "content": [image]},
        {"role": "assistant", "content": None, "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "c1", "content": ""},
        {"role": "user", "content": "And?"},
    ]
    blank: list[Any] = [
        {"role": "system", "content": ""},
        {"role": "assistant", "content": "   \n"},
        {"role": "user", "content": [{"type": "text", "text": " "}]},
        {"role": "assistant", "content": None},
    ]
    client.chat.completions.create(model="x", messages=[*blank, *kept[:1], *blank, *kept[1:]])
    assert [one for one in upstream.requests[-1].body["messages"] if one in kept] == kept
    assert not [one for one in upstream.requests[-1].body["messages"] if one in blank]
    assert texts_of(alice)[0][::2] == ["[image]", "And?"]


@pytest.mark.django_db
def test_a_prompt_of_locis_own_has_no_blank_messages() -> None:
    alice = UserFactory()
    chat = make_chat(alice)
    said = [("Show me.", False), ("", True), ("   ", False), ("And?", True)]
    chat = append_messages(alice, chat.pk, [parsed(text, is_user=is_user) for text, is_user in said]).chat
    spoken = [message for message in assemble_whole(chat, context_tokens=8000).messages if message["role"] != "system"]
    assert [message["content"] for message in spoken] == ["Show me.", "And?"]
