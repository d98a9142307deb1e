"""Errors of the model server are passed on as its own, and logged as warnings, not as errors of ours."""

import asyncio
import logging
from collections.abc import Callable

import pytest
from asgiref.sync import sync_to_async
from django.test import AsyncClient

from apps.accounts.models import User
from apps.chats.models import Message
from tests.coroutines import in_thread
from tests.llm.scripted_server import Reply, ScriptedServer, html
from tests.proxy.conftest import KEY

pytestmark = [pytest.mark.worker, pytest.mark.django_db(transaction=True)]
BODY = {"model": "x", "messages": [{"role": "user", "content": "Hi"}]}


@pytest.mark.parametrize(
    ("reply", "status"),
    [
        (Reply(f"Overheated {KEY}", status=500), 500),
        (Reply(status=503), 503),
        (Reply(status=302), 502),
        (Reply("Half.", stream=True, break_after=0), 200),
        (Reply(raw=b'{"choices": [{"message": {"content": "Half', headers={"Content-Length": "500"}), 502),
        (html("Sign in"), 502),
        (Reply(raw=b"Not JSON."), 502),
        (Reply("late", delay=30), 504),
        (Reply(status=429), 429),
    ],
)
def test_an_error_of_the_model_server_is_a_warning(
    upstream: ScriptedServer, connection, secret: str, caplog, reply: Reply, status: int
) -> None:
    upstream.reply_with(reply)
    caplog.set_level(logging.INFO)

    async def ask() -> tuple[int, str]:
        response = await AsyncClient().post(
            "/v1/chat/completions", BODY, "application/json", headers={"Authorization": f"Bearer {secret}"}
        )
        if response.streaming:
            async for _ in response:
                pass
        return response.status_code, response.headers.get("X-Loci-Error", "")

    assert in_thread(ask) == (status, "" if status == 200 else "model-server")
    assert [record for record in caplog.records if record.levelno > logging.WARNING] == []
    warnings = [record.getMessage() for record in caplog.records if record.levelno == logging.WARNING]
    assert any("model-server" in text or "the model server broke off" in text for text in warnings)
    assert KEY not in caplog.text


def leave_before_the_first_byte(secret: str, is_over: Callable[[], bool], **fields: bool) -> bool:
    """Ask, and close the response unread, as Django does where the client has gone. Return whether ``is_over`` then."""

    async def leave() -> bool:
        headers = {"Authorization": f"Bearer {secret}"}
        response = await AsyncClient().post("/v1/chat/completions", BODY | fields, "application/json", headers=headers)
        await sync_to_async(response.close)()
        for _ in range(100):
            if await sync_to_async(is_over)():
                return True
            await asyncio.sleep(0.1)
        return False

    return in_thread(leave)


def test_a_call_ends_although_nobody_has_read_any_of_its_reply(
    upstream: ScriptedServer, connection, secret: str
) -> None:
    upstream.reply_with(Reply("word " * 1000, pace=0.05))
    assert leave_before_the_first_byte(secret, upstream.dropped.is_set, stream=True)


def test_a_whole_reply_that_nobody_has_read_is_stored(
    upstream: ScriptedServer, connection, secret: str, alice: User
) -> None:
    assert leave_before_the_first_byte(secret, lambda: Message.objects.for_owner(alice).count() == 2)


def test_an_error_of_ours_names_no_other_server() -> None:
    response = in_thread(lambda: AsyncClient().post("/v1/chat/completions", BODY, "application/json"))
    assert response.status_code == 401
    assert "X-Loci-Error" not in response.headers


@pytest.mark.parametrize("stream", [True, False])
def test_a_web_page_instead_of_a_reply_is_named(
    upstream: ScriptedServer, connection, secret: str, stream: bool
) -> None:
    upstream.reply_with(html("Sign in"))
    headers = {"Authorization": f"Bearer {secret}"}
    response = in_thread(
        lambda: AsyncClient().post(
            "/v1/chat/completions", BODY | {"stream": stream}, "application/json", headers=headers
        )
    )
    assert response.status_code == 502
    assert response.json()["error"]["message"].endswith("a web page, “Sign in”")


@pytest.mark.parametrize("path", ["completions", "embeddings", "models/x", "chat/completions/", ""])
def test_other_routes_of_the_api_are_refused_in_its_form(path: str) -> None:
    read = in_thread(lambda: AsyncClient().get(f"/v1/{path}"))
    sent = in_thread(lambda: AsyncClient(enforce_csrf_checks=True).post(f"/v1/{path}"))
    for response in (read, sent):
        assert response.status_code == 404
        assert response.json()["error"]["type"] == "not_found_error"
