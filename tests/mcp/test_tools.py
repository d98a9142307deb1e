"""The official client runs every tool, sees what its token may see, and is told what is wrong."""

import datetime as dt
import re
from typing import Any

import httpx
import pytest
from asgiref.sync import sync_to_async
from mcp.shared.exceptions import MCPError

from apps.accounts.models import ApiToken, User
from apps.accounts.operations import revoke_token
from apps.instances.operations.registration import register
from apps.journal.entries import merge_daily
from apps.mcp.mount import McpMount
from apps.mcp.tools import TOOLS
from apps.memories.models import Memory
from tests.conftest import WebServer
from tests.contract.test_owner_scope import things_of_alice
from tests.coroutines import in_thread
from tests.factories import make_character, make_chat, make_memory
from tests.mcp.conftest import Session, connected, secret_of


def test_every_tool_by_token(session: Session, alice: User) -> None:
    mira = make_character(alice)
    chat = make_chat(alice, "Where is the key?", "Under the blue stone.", character=mira)
    merge_daily(alice, period=dt.date(2026, 11, 21), instance="", text="- A key was lost.")
    register(alice, "desk")
    called = set()

    def call(name: str, **arguments: Any) -> dict[str, Any]:
        called.add(name)
        return session.call(name, **arguments)

    added = call("memory_add", text="Alice keeps the key under the blue stone.", chat=str(chat.pk))
    found = call("memory_search", query="Where is the key kept?", tiers=["long_term"])
    assert [result["id"] for result in found["results"]] == [added["id"]]
    updated = call("memory_update", id=added["id"], text="Alice keeps the key in the red box.", pinned=True)
    assert updated["text"] == "Alice keeps the key in the red box."
    assert updated["pinned"]
    assert [memory["id"] for memory in call("memory_list")["memories"]] == [added["id"]]
    assert [step["id"] for step in call("memory_history", id=added["id"])["history"]] == [added["id"]]

    assert [found["id"] for found in call("chat_list", q="heist")["chats"]] == [str(chat.pk)]
    prompt = call("prompt_for_turn", chat=str(chat.pk), text="And where is the key now?")
    assert "red box" in prompt["text"]
    stored = call("chat_append", chat=str(chat.pk), messages=[{"role": "user", "text": "Then let us go."}])
    assert stored["messages"] == 3
    begun = call("chat_append", title="Tea", messages=[{"role": "user", "text": "I like tea.", "name": "Alice"}])
    assert begun["messages"] == 1

    assert "A key was lost." in call("journal_read", **{"from": "2026-11-21"})["entries"][0]["text"]
    week = {"granularity": "weekly", "period": "2026-W47"}
    assert call("memory_consolidate", **week) == {"periods": [week]}

    pulled = call("sync_pull", instance="desk")
    assert [memory["text"] for memory in pulled["memories"] if memory["tier"] == "long_term"] == [updated["text"]]
    clock = {**pulled["clock"], "desk": 1}
    note = {"category": "self", "filename": "notes.md", "content": "I am calm.", "clock": clock, "instance": "desk"}
    pushed = call("sync_push", instance="desk", clock=clock, identity=[{**note, "updated_at": "2026-11-21T10:00:00Z"}])
    assert pushed["applied"] == 1
    assert [instance["id"] for instance in call("sync_status")["instances"]] == ["desk"]

    assert call("memory_delete", id=added["id"]) == {"deleted": added["id"]}
    assert call("memory_list")["memories"] == []
    assert called == set(TOOLS)


def test_resources_and_descriptions(session: Session, alice: User) -> None:
    chat = make_chat(alice, "Where is the key?")
    make_memory(chat, "The key is under the blue stone.")
    merge_daily(alice, period=dt.date(2026, 11, 21), instance="", text="- A key was lost.")

    async def work(client: Any) -> tuple[list[Any], list[Any], str, str]:
        tools = (await client.list_tools()).tools
        resources = (await client.list_resources()).resources
        book = await client.read_resource(f"loci://memory-book/{chat.pk}")
        journal = await client.read_resource("loci://journal")
        with pytest.raises(MCPError, match="no resource"):
            await client.read_resource("loci://nothing")
        with pytest.raises(MCPError, match="no tool"):
            await client.call_tool("memory_burn", {})
        return tools, resources, book.contents[0].text, journal.contents[0].text

    tools, resources, book, journal = session.run(work)
    assert {tool.name for tool in tools} == set(TOOLS)
    assert {tool.name for tool in tools if tool.annotations.destructive_hint} == {
        *("memory_update", "memory_delete", "sync_push"),
    }
    assert all("all it" in tool.description for tool in tools if tool.name.startswith("memory_"))  # "Call it when"
    assert {str(resource.uri) for resource in resources} == {"loci://memory-book", "loci://journal"}
    assert "The key is under the blue stone." in book
    assert "A key was lost." in journal


def test_a_write_with_a_key_is_stored_once(session: Session, alice: User) -> None:
    first = session.call("memory_add", text="Alice likes tea.", idempotency_key="tea")
    again = session.call("memory_add", text="Alice likes tea.", idempotency_key="tea")
    assert first == again
    assert Memory.objects.for_owner(alice).count() == 1
    chats = [session.call("chat_append", messages=[{"role": "user", "text": "Hi"}], idempotency_key="hi") for _ in "12"]
    assert chats[0] == chats[1]


BAD_ARGUMENTS: list[tuple[str, dict[str, Any], str]] = [
    ("memory_search", {}, "query: it is missing."),
    ("memory_search", {"query": 7}, "query: it must be a text."),
    ("memory_search", {"query": "key", "limit": "many"}, "limit: it must be a whole number."),
    ("memory_search", {"query": "key", "colour": "red"}, "colour: there is no such argument"),
    ("memory_add", {"text": "A", "kind": "rumour"}, "kind: it must be one of fact,"),
    ("memory_add", {"text": "x" * 1_000_000}, "text: it is too long: at most 4000 characters."),
    ("memory_add", {"text": "a\x00b"}, "text: "),
    ("memory_add", {"text": "A key.", "tier": "session"}, "chat: A session memory belongs to a chat."),
    ("memory_update", {"id": "../journal"}, "id: it must be a UUID."),
    ("memory_delete", {"id": "0" * 32}, "This does not exist."),
    ("chat_append", {"messages": [{"role": "user"}]}, "messages/0/text: it is missing."),
    ("chat_append", {"messages": "Hello"}, "messages: it must be a list."),
    ("journal_read", {"from": "yesterday"}, "from: "),
    ("sync_push", {"instance": "desk", "clock": {"desk": "x"}}, "clock/desk: it must be a whole number."),
]


def test_bad_arguments_are_told_by_name(session: Session) -> None:
    async def work(client: Any) -> list[Any]:
        return [await client.call_tool(name, arguments) for name, arguments, _ in BAD_ARGUMENTS]

    for result, (name, arguments, reason) in zip(session.run(work), BAD_ARGUMENTS, strict=True):
        text = result.content[0].text
        assert result.is_error, (name, arguments.keys())
        assert reason in text
        assert len(text) < 1000


def test_a_token_that_may_read_does_not_write(web_server: WebServer, alice: User) -> None:
    session = Session(web_server.url, secret_of(alice, scope=ApiToken.Scope.READ))
    assert session.call("memory_list") == {"memories": []}
    assert session.refused("memory_add", text="Alice likes tea.") == "This token may only read."


def test_a_stranger_finds_nothing_by_any_tool(web_server: WebServer, charlie: User) -> None:
    things = things_of_alice()
    ids = {name: str(value) for name, value in things.items()}
    hers = {
        "memory_search": {"query": "key", "chat": ids["chat_id"]},
        "memory_add": {"text": "Mine.", "chat": ids["chat_id"]},
        "memory_update": {"id": ids["memory_id"], "text": "Mine."},
        "memory_delete": {"id": ids["memory_id"]},
        "memory_history": {"id": ids["memory_id"]},
        "prompt_for_turn": {"chat": ids["chat_id"]},
        "chat_append": {"chat": ids["chat_id"], "messages": [{"role": "user", "text": "Mine."}]},
        "sync_pull": {"instance": ids["instance_id"]},
        "sync_push": {"instance": ids["instance_id"], "clock": {ids["instance_id"]: 1}},
    }
    nothing: dict[str, dict[str, Any]] = {
        "memory_list": {"memories": []},
        "chat_list": {"chats": []},
        "journal_read": {"entries": []},
        "memory_consolidate": {"periods": []},
        "sync_status": {"clock": {}, "instances": [], "open_conflicts": 0},
    }
    stranger = Session(web_server.url, secret_of(charlie))
    owner = Session(web_server.url, secret_of(things["user"]))
    assert {**hers, **nothing}.keys() == TOOLS.keys()
    for name, arguments in hers.items():
        text = stranger.refused(name, **arguments)
        assert re.search("no such|n[o']t exist|There is no instance", text), (name, text)
    for name, expected in nothing.items():
        assert stranger.call(name) == expected, name
    assert stranger.call("memory_search", query="key")["results"] == []
    assert Memory.objects.for_owner(things["user"]).filter(text="The key is hidden.").exists()
    # Without these the test would pass for tools that find nothing for anybody.
    assert owner.call("memory_history", id=ids["memory_id"])["history"]
    assert owner.call("prompt_for_turn", chat=ids["chat_id"])
    assert owner.call("memory_list")["memories"]


def test_a_token_revoked_in_mid_session_is_refused_at_once(web_server: WebServer, alice: User) -> None:
    secret = secret_of(alice)
    session = Session(web_server.url, secret)

    async def work(client: Any) -> None:
        assert (await client.call_tool("memory_list", {})).structured_content == {"memories": []}
        token = ApiToken.objects.for_owner(alice).get
        await sync_to_async(lambda: revoke_token(token()))()
        with pytest.raises(MCPError, match="error response"):
            await client.call_tool("memory_list", {})

    session.run(work)


def test_requests_that_are_none_of_the_protocol(web_server: WebServer, alice: User) -> None:
    secret = secret_of(alice)
    url, signed_in = f"{web_server.url}/mcp", {"Authorization": f"Bearer {secret}"}
    with httpx.Client(trust_env=False, timeout=60) as client:
        reply = client.post(url, json={})
        assert reply.status_code == 401
        metadata = f'resource_metadata="{web_server.url}/.well-known/oauth-protected-resource/mcp"'
        assert metadata in reply.headers["WWW-Authenticate"]
        assert client.post(url, content=b"x" * 1_000_000).status_code == 401
        assert client.post(url, json={}, headers={"Authorization": "Bearer loci_wrong"}).status_code == 401
        assert client.get(url, headers=signed_in).status_code == 405
        assert client.delete(url, headers=signed_in).status_code == 405
        foreign = {**signed_in, "Origin": "https://evil.example"}
        assert client.post(url, json={}, headers=foreign).status_code == 403
        accept = {**signed_in, "Accept": "application/json, text/event-stream"}
        refused = client.post(url, content=b" " * 5_000_000, headers=accept)
        assert (refused.status_code, refused.headers["Connection"]) == (413, "close"), "it is not read to its end"
        for body in (b"{", b"[]", b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": 7}', b"\xff"):
            reply = client.post(url, content=body, headers={**accept, "Content-Type": "application/json"})
            assert 200 <= reply.status_code < 500, (body, reply.text)


@pytest.mark.parametrize("host", ["evil.example", "evil.example:8000", "loci.example.evil.example", ""])
def test_another_name_that_leads_here_is_refused(settings: Any, host: str) -> None:
    settings.ALLOWED_HOSTS = ["loci.example"]
    sent: list[Any] = []

    async def send(message: Any) -> None:
        sent.append(message)

    async def nothing(*args: Any) -> None:
        raise AssertionError("It must not be asked.")

    headers = [(b"host", host.encode()), (b"origin", b"http://" + host.encode())]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "scheme": "http", "headers": headers}
    in_thread(lambda: McpMount(nothing)(scope, nothing, send))
    assert sent[0]["status"] == 403


def test_a_client_of_the_handshake_works_too(web_server: WebServer, alice: User) -> None:
    """Most programs begin with `initialize`; the newest ask `server/discover` first."""

    secret = secret_of(alice)

    async def work() -> Any:
        async with connected(web_server.url, secret, mode="legacy") as client:
            return await client.call_tool("memory_list", {})

    assert in_thread(work).structured_content == {"memories": []}
