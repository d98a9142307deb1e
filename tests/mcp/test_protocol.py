"""What the protocol demands of every server, by single messages and by the official client in both of its modes."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, METHOD_NOT_FOUND

from apps.accounts.models import User
from tests.conftest import WebServer
from tests.coroutines import in_thread
from tests.factories import make_chat, make_memory
from tests.mcp.conftest import connected, secret_of

PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
BEGIN = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}


@pytest.fixture
def http(web_server: WebServer, alice: User) -> Iterator[httpx.Client]:
    headers = {"Authorization": f"Bearer {secret_of(alice)}", "Accept": "application/json, text/event-stream"}
    with httpx.Client(base_url=web_server.url, headers=headers, trust_env=False, timeout=60) as client:
        yield client


def ask(http: httpx.Client, method: str, **params: Any) -> dict[str, Any]:
    reply = http.post("/mcp", json={"jsonrpc": "2.0", "id": 1, "method": method, "params": params})
    assert reply.headers["Content-Type"] == "application/json"
    return dict(reply.json())


@pytest.mark.parametrize("params", [{}, {"arguments": {}}, {"name": 5}])
def test_a_call_without_the_name_of_a_tool_says_so(http: httpx.Client, params: dict[str, Any]) -> None:
    error = ask(http, "tools/call", **params)["error"]
    assert (error["code"], error["message"]) == (INVALID_PARAMS, "name: it must be the name of a tool.")


def test_what_is_not_declared_is_not_served(http: httpx.Client) -> None:
    declared = ask(http, "initialize", **BEGIN)["result"]["capabilities"]
    assert declared == {"tools": {"listChanged": False}, "resources": {"listChanged": False, "subscribe": False}}
    for method, params in (
        ("prompts/list", {}),
        ("prompts/get", {"name": "test"}),
        ("logging/setLevel", {"level": "info"}),
        (
            "completion/complete",
            {"ref": {"type": "ref/prompt", "name": "test"}, "argument": {"name": "a", "value": ""}},
        ),
        ("resources/subscribe", {"uri": "loci://journal"}),
        ("resources/unsubscribe", {"uri": "loci://journal"}),
    ):
        assert ask(http, method, **params)["error"]["code"] == METHOD_NOT_FOUND, method


def test_an_unknown_version_is_answered_with_one_that_is_served(http: httpx.Client) -> None:
    for asked, answered in (("2025-03-26", "2025-03-26"), ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")):
        result = ask(http, "initialize", **{**BEGIN, "protocolVersion": asked})["result"]
        assert result["protocolVersion"] == answered


def test_a_header_of_the_protocol_is_checked_and_that_of_a_session_means_nothing(http: httpx.Client) -> None:
    for headers, status in (
        ({}, 200),
        ({"MCP-Protocol-Version": "2025-06-18"}, 200),
        ({"MCP-Protocol-Version": "1999-01-01"}, 400),
        ({"Mcp-Session-Id": "of another server"}, 200),
        ({"Accept": "text/html"}, 406),
        ({"Origin": "null"}, 403),
        ({"Origin": f"http://{http.base_url.netloc.decode()}"}, 200),
    ):
        assert http.post("/mcp", json=PING, headers=headers).status_code == status, headers
    assert "Mcp-Session-Id" not in http.post("/mcp", json=PING).headers
    notification = {"jsonrpc": "2.0", "method": "notifications/initialized"}
    assert http.post("/mcp", json=notification).status_code == 202


def test_a_batch_is_refused_as_a_whole(http: httpx.Client) -> None:
    reply = http.post("/mcp", json=[PING, {**PING, "id": 2}])
    assert reply.status_code == 400
    assert reply.json()["error"]


@pytest.mark.parametrize("method", ["tools/list", "resources/list", "resources/templates/list"])
def test_a_cursor_that_was_not_given_out_is_refused(http: httpx.Client, method: str) -> None:
    assert "nextCursor" not in ask(http, method)["result"]
    assert ask(http, method, cursor="more")["error"]["code"] == INVALID_PARAMS


@pytest.mark.parametrize(("mode", "code"), [("auto", INVALID_PARAMS), ("legacy", -32002)])
def test_a_missing_resource_has_the_code_of_the_version(
    web_server: WebServer, alice: User, mode: str, code: int
) -> None:
    """The newest has no code of its own for it, and gives the number of the older ones to nothing else."""
    chat = make_chat(alice, "Where is the key?")
    make_memory(chat, "The key is under the blue stone.")
    secret = secret_of(alice)

    async def work() -> list[int]:
        async with connected(web_server.url, secret, mode=mode) as client:
            templates = (await client.list_resource_templates()).resource_templates
            assert [one.uri_template for one in templates] == [
                "loci://memory-book/{chat}",
                "loci://journal/{granularity}",
            ]
            book = await client.read_resource(f"loci://memory-book/{chat.pk}")
            assert "The key is under the blue stone." in book.contents[0].text
            codes = []
            for uri in ("loci://nothing", f"loci://memory-book/{alice.pk}"):
                with pytest.raises(MCPError) as refused:
                    await client.read_resource(uri)
                codes.append(refused.value.code)
            return codes

    assert in_thread(work) == [code, code]
