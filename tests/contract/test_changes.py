"""The change feed and the changes in a 409 have a limited size."""

from typing import Any

import pytest
from rest_framework.test import APIClient

LONG = "x" * 50_000  # a message of 100 kB in a reply, which repeats the active swipe
LIMIT = 1_000_000  # bytes


def append(client: APIClient, chat: dict[str, Any], *texts: str, **envelope: Any) -> Any:
    body = envelope | {"messages": [{"mes": text} for text in texts]}
    return client.post(f"/api/v1/chats/{chat['id']}/append/", body)


def edit(client: APIClient, chat: dict[str, Any], text: str, **envelope: Any) -> Any:
    body = {"force": True} | envelope | {"patches": [{"index": 0, "set": {"mes": text}}]}
    return client.post(f"/api/v1/chats/{chat['id']}/patch/", body)


def stale(client: APIClient, chat: dict[str, Any]) -> dict[str, Any]:
    reply = edit(client, chat, "stale", force=False, integrity=chat["integrity"])
    assert reply.status_code == 409
    return reply.json()


def feed(client: APIClient, chat: dict[str, Any]) -> Any:
    return client.get(f"/api/v1/chats/{chat['id']}/changes/?since={chat['rev']}")


def messages_of(changes: list[dict[str, Any]]) -> list[str]:
    return [message["mes"] for change in changes for message in change["messages"]]


def test_a_message_that_changed_often_is_sent_once(alice: APIClient, chat: dict[str, Any]) -> None:
    for number in range(15):
        assert edit(alice, chat, f"{number} {LONG}").status_code == 200
    reply = feed(alice, chat)
    assert len(reply.content) < 150_000
    changes = reply.json()["changes"]
    assert [change["rev"] for change in changes] == list(range(chat["rev"] + 1, chat["rev"] + 16))
    assert messages_of(changes) == messages_of(changes[-1:]) == [f"14 {LONG}"]
    assert reply.json()["next"] is None
    conflict = stale(alice, chat)
    assert conflict["changes"] == changes
    assert "reread" not in conflict


def test_the_feed_comes_in_pages_that_hold_each_message_once(alice: APIClient, chat: dict[str, Any]) -> None:
    for number in range(25):
        append(alice, chat, f"{number} {LONG}")
    edit(alice, chat, "Where is it?")
    now = alice.get(f"/api/v1/chats/{chat['id']}/").json()
    pages, reply = [], feed(alice, chat)
    while True:
        assert reply.status_code == 200
        assert len(reply.content) < 1.1 * LIMIT
        pages.append(reply.json())
        assert (pages[-1]["integrity"], pages[-1]["rev"]) == (now["integrity"], now["rev"])
        if pages[-1]["next"] is None:
            break
        reply = alice.get(pages[-1]["next"])
    assert len(pages) == 3
    changes = [change for page in pages for change in page["changes"]]
    assert [change["rev"] for change in changes] == list(range(chat["rev"] + 1, now["rev"] + 1))
    assert messages_of(changes) == [*(f"{number} {LONG}" for number in range(25)), "Where is it?"]


def test_a_409_with_more_than_it_may_hold_says_that_the_chat_is_to_be_read_anew(
    alice: APIClient, chat: dict[str, Any]
) -> None:
    for number in range(12):
        append(alice, chat, f"{number} {LONG}")
    conflict = stale(alice, chat)
    assert conflict["reread"] is True
    assert "changes" not in conflict
    assert conflict["current_rev"] == chat["rev"] + 12


@pytest.mark.parametrize("bulk", ["messages", "metadata"])
def test_a_write_that_is_larger_than_a_page_is_a_page(alice: APIClient, chat: dict[str, Any], bulk: str) -> None:
    if bulk == "messages":
        append(alice, chat, *[LONG] * 12)
    else:
        body = {"force": True, "metadata": {"note": LONG * 21}}
        alice.post(f"/api/v1/chats/{chat['id']}/patch-metadata/", body)
    edit(alice, chat, "Where is it?")
    first = feed(alice, chat).json()
    assert [change["rev"] for change in first["changes"]] == [chat["rev"] + 1]
    second = alice.get(first["next"]).json()
    assert messages_of(second["changes"]) == ["Where is it?"]
    assert second["next"] is None
    assert stale(alice, chat)["reread"] is True


def test_a_409_names_no_more_conflicting_messages_than_it_may_hold(alice: APIClient, chat: dict[str, Any]) -> None:
    append(alice, chat, *[LONG] * 12)
    known = alice.get(f"/api/v1/chats/{chat['id']}/").json()["integrity"]
    every = {"patches": [{"index": index, "set": {"mes": "Mine."}} for index in range(12)]}
    edits = {"patches": [{"index": index, "set": {"mes": f"{LONG}y"}} for index in range(12)]}
    assert alice.post(f"/api/v1/chats/{chat['id']}/patch/", {"force": True} | edits).status_code == 200
    body = {"integrity": known, "on_conflict": "rebase"} | every
    reply = alice.post(f"/api/v1/chats/{chat['id']}/patch/", body)
    assert reply.status_code == 409
    assert len(reply.content) < 1.1 * LIMIT
    assert reply.json()["reread"] is True
    assert 1 < len(reply.json()["conflicts"]) < 12
    short = body | {"patches": every["patches"][:2]}
    conflict = alice.post(f"/api/v1/chats/{chat['id']}/patch/", short).json()
    assert [len(entry["theirs"]["mes"]) for entry in conflict["conflicts"]] == [len(LONG) + 1] * 2
