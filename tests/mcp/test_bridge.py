"""The command `loci-client mcp`, as a program starts it."""

import json
import subprocess
import sys
from typing import Any

import pytest
from mcp import Client, StdioServerParameters
from mcp.client.stdio import stdio_client

from apps.accounts.models import User
from apps.mcp.tools import TOOLS
from config.env import ROOT
from tests.conftest import WebServer
from tests.coroutines import in_thread
from tests.mcp.conftest import secret_of

PATHS = {"PYTHONPATH": str(ROOT / "clients" / "python" / "src")}


def parameters(url: str, secret: str) -> StdioServerParameters:
    environment = {**PATHS, "LOCI_URL": url, "LOCI_TOKEN": secret, "NO_PROXY": "127.0.0.1"}
    return StdioServerParameters(command=sys.executable, args=["-m", "loci_client", "mcp"], env=environment)


@pytest.mark.parametrize("mode", ["legacy", "auto"])
def test_tools_by_standard_input_and_output(web_server: WebServer, alice: User, mode: str) -> None:
    secret = secret_of(alice)

    async def work() -> tuple[set[str], Any, Any, Any]:
        async with Client(stdio_client(parameters(web_server.url, secret)), mode=mode) as client:
            names = {tool.name for tool in (await client.list_tools()).tools}
            added = await client.call_tool("memory_add", {"text": "Alice likes Tee aus Köln."})
            refused = await client.call_tool("memory_add", {"text": 7})
            book = await client.read_resource("loci://memory-book")
        return names, added, refused, book

    names, added, refused, book = in_thread(work)
    assert names == set(TOOLS)
    assert added.structured_content["text"] == "Alice likes Tee aus Köln."
    assert (refused.is_error, refused.content[0].text) == (True, "text: it must be a text.")
    assert "Köln" in book.contents[0].text


def bridged(url: str, token: str, *lines: str) -> list[dict[str, Any]]:
    command = [sys.executable, "-m", "loci_client", "mcp", "--url", url, "--token", token]
    run = subprocess.run(command, input="\n".join(lines), capture_output=True, text=True, env=PATHS, timeout=60)
    assert run.stderr == ""
    return [json.loads(line) for line in run.stdout.splitlines()]


def test_what_can_not_be_passed_on_is_told(web_server: WebServer, alice: User) -> None:
    request = '{"jsonrpc": "2.0", "id": 7, "method": "tools/list"}'
    note = '{"jsonrpc": "2.0", "method": "notifications/initialized"}'
    (wrong,) = bridged(web_server.url, "loci_wrong", note, request)
    assert wrong["id"] == 7
    assert "401: This token is unknown, revoked or expired" in wrong["error"]["message"]
    (away,) = bridged("http://127.0.0.1:9", "loci_x", note, request)
    assert "Loci can't be reached at http://127.0.0.1:9/mcp" in away["error"]["message"]
    unreadable, answered = bridged(web_server.url, secret_of(alice), "nonsense", "", request)
    assert unreadable["error"]["code"] == -32700
    assert len(answered["result"]["tools"]) == len(TOOLS)
    assert subprocess.run([sys.executable, "-m", "loci_client", "mcp"], env=PATHS, timeout=60).returncode == 2
