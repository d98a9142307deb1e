"""Bodies that are too large, turns of images, and what is no turn of a conversation."""

import json
from typing import Any

import pytest
from django.test import AsyncClient

from apps.accounts.operations import create_token
from apps.llm.operations import create_connection
from apps.proxy.requests.headers import character_of
from apps.proxy.requests.nudges import Nudge, nudge_of
from apps.proxy.requests.side_calls import is_side_call
from apps.proxy.requests.turns import turns_of
from apps.proxy.upstream import connections
from tests.coroutines import in_thread
from tests.factories import UserFactory, make_character
from tests.llm.scripted_server import Reply, ScriptedServer

LONG_REPLY = "Once upon a time, " + "and then again, " * 30
CONTINUE = "[Continue your last message without repeating its original content.]"


@pytest.mark.django_db
@pytest.mark.django_db(transaction=True)
def test_a_body_above_the_limit_is_a_413_in_openais_form(settings: Any) -> None:
    settings.REQUEST_MAX_BYTES = settings.DATA_UPLOAD_MAX_MEMORY_SIZE = 1000
    body = json.dumps({"messages": [{"role": "user", "content": "x" * 1000}]})
    token = create_token(UserFactory(), name="SDK")[1]
    headers = {"Authorization": f"Bearer {token}"}
    request = {"data": body, "content_type": "application/json", "headers": headers}
    response = in_thread(lambda: AsyncClient().post("/v1/chat/completions", **request))
    assert response.status_code == 413
    assert response.json()["error"]["type"] == "invalid_request_error"


def test_a_turn_of_images_alone_has_a_placeholder() -> None:
    image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}}
    messages = [
        {"role": "user", "content": "Look!"},
        {"role": "assistant", "content": "At what?"},
        {"role": "user", "content": [image]},
        {"role": "assistant", "content": ""},
    ]
    assert [(turn.is_user, turn.text) for turn in turns_of(messages)] == [
        (True, "Look!"),
        (False, "At what?"),
        (True, "[image]"),
    ]


@pytest.mark.parametrize(
    ("text", "nudge"),
    [
        ("[Write the next reply only as Tom.]", Nudge.NEXT_REPLY),
        ("[Continue the story as Tom.]", Nudge.NEXT_REPLY),
        (CONTINUE, Nudge.CONTINUATION),
        (
            "[Continue the following message. Do not include ANY parts of the original message. Use capitalization "
            f"and punctuation as if your reply is a part of the original message: {LONG_REPLY}]",
            Nudge.CONTINUATION,
        ),
        ("Write a title.", None),
        (f"[Summarize {'all ' * 30}]", None),
        (f"[Summarize the following message: {LONG_REPLY}]", None),
    ],
)
def test_nudges_as_sillytavern_words_them_are_told_apart_from_side_calls(text: str, nudge: Nudge | None) -> None:
    messages = [
        {"role": "user", "content": "a"},
        {"role": "assistant", "content": LONG_REPLY},
        {"role": "system", "content": text},
    ]
    turns = turns_of(messages)
    assert nudge_of(messages, turns) is nudge
    assert is_side_call({"messages": messages}, turns, nudge) == (nudge is None)


@pytest.mark.parametrize(
    ("instructions", "nudge"),
    [
        ([CONTINUE, "Never speak for {{user}}. Write at least two paragraphs."], Nudge.CONTINUATION),
        (
            ["[Style: dry wit]", CONTINUE, "Stay in character.", "[Write the next reply only as Tom.]"],
            Nudge.CONTINUATION,
        ),
        (["Stay in character.", "[Write the next reply only as Tom.]"], Nudge.NEXT_REPLY),
        (["[Style: dry wit]", "Summarize the conversation so far."], None),
    ],
)
def test_instructions_for_every_reply_may_follow_a_nudge_to_continue(
    instructions: list[str], nudge: Nudge | None
) -> None:
    """As post-history instructions do. Behind any other note, an instruction is the client's own request."""
    messages = [{"role": "user", "content": "a"}, {"role": "assistant", "content": LONG_REPLY}]
    messages += [{"role": "system", "content": text} for text in instructions]
    turns = turns_of(messages)
    assert nudge_of(messages, turns) is nudge
    assert is_side_call({"messages": messages}, turns, nudge) == (nudge is None)


@pytest.mark.django_db
def test_a_character_is_found_by_whole_words() -> None:
    alice = UserFactory()
    al = make_character(alice, "Al")
    assert character_of(alice, {}, "Also answer in English.") is None
    assert character_of(alice, {}, "You are Al.") == al


@pytest.mark.django_db
def test_a_list_of_models_that_fails_is_soon_asked_for_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(connections, "FAILURE_CACHED", 0)
    with ScriptedServer("Hello.") as server:
        options = {"backend": "openai", "api_key": "k", "model": "scripted-small", "timeout": 2}
        connection = create_connection(UserFactory(), name="A", base_url=f"{server.url}/v1", **options)
        server.reply_with(Reply(status=500))
        connections.models_of(connection)
        server.reply_with()
        assert "scripted-large" in connections.models_of(connection)
