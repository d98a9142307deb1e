"""Errors of the model server are passed on as its own, and logged as warnings, not as errors of ours."""

import logging

import pytest
from django.test import AsyncClient

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
