"""The calls of both clients, against a live server."""

import io
import json
import uuid
from collections.abc import Callable
from typing import Any

import httpx
import pytest
from loci_client import (
    IntegrityConflict,
    IntegrityRequired,
    Invalid,
    KeyReused,
    Loci,
    NotFound,
    NothingToUndo,
    RetryPolicy,
    Throttled,
    Unauthenticated,
    Unavailable,
    UndoConflict,
)

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import create_chat
from apps.search.indexing import index_messages
from tests.clients.conftest import PLAIN, plain_call
from tests.clients.unreliable import Answer, Lost, Proxy, answering, losing_replies

pytestmark = pytest.mark.django_db(transaction=True)

FILE = b"""{"user_name":"Alice","character_name":"Mira","chat_metadata":{"note":"n"}}
{"name":"Alice","is_user":true,"mes":"Where is the key?","odd":[1]}
{"name":"Mira","is_user":false,"mes":"Under the blue stone.","extra":{"model":"m"}}
"""


@plain_call
def test_a_chat_is_made_read_changed_and_deleted(client: Any) -> None:
    made = client.create_chat("The heist", user_name="Alice", metadata={"mood": "calm"})
    assert client.get_chat(made["id"]) == made
    assert (made["title"], made["user_name"], made["metadata"]) == ("The heist", "Alice", {"mood": "calm"})
    assert client.update_chat(made["id"], title="The flight")["title"] == "The flight"
    assert client.delete_chat(made["id"]) is None
    with pytest.raises(NotFound):
        client.get_chat(made["id"])


def test_chats_are_listed_page_by_page(client: Any, alice: User) -> None:
    for n in range(60):
        create_chat(alice, title=f"Chat {n}")
    page = client.list_chats(limit=2)
    assert len(page["results"]) == 2
    assert page["next"]
    titles = [chat["title"] for chat in client.chats()]
    assert sorted(titles) == sorted(f"Chat {n}" for n in range(60))
    assert [chat["title"] for chat in client.chats(q="Chat 59")] == ["Chat 59"]


@plain_call
def test_messages_are_read_in_windows(client: Any, chat: dict[str, Any]) -> None:
    window = client.get_messages(chat["id"], -2)
    assert (window["from"], window["total"], window["integrity"]) == (1, 3, chat["integrity"])
    assert [message["mes"] for message in window["results"]] == ["Under the blue stone.", "Then let us go."]
    assert len(client.get_messages(chat["id"], 0, 1)["results"]) == 1


def test_a_file_comes_back_as_it_was(client: Any) -> None:
    imported = client.import_chat(io.BytesIO(FILE), "heist.jsonl", title="The heist")
    assert imported["report"]["messages"] == 2
    [chat] = imported["chats"]
    assert chat["title"] == "The heist"
    exported = b"".join(client.export_chat(chat["id"]))
    assert list(map(json.loads, exported.splitlines())) == list(map(json.loads, FILE.splitlines()))
    with pytest.raises(NotFound):
        list(client.export_chat(str(uuid.uuid4())))


@plain_call
def test_writes_are_guarded(client: Any, chat: dict[str, Any]) -> None:
    done = client.append(chat["id"], [{"mes": "On."}], integrity=chat["integrity"])
    assert [place["index"] for place in done["appended"]] == [3]
    edit: Any = {"index": 3, "set": {"mes": "On we go."}}
    with pytest.raises(IntegrityConflict) as caught:
        client.patch(chat["id"], [edit], integrity=chat["integrity"])
    assert caught.value.current_integrity == done["integrity"]
    assert [entry["rev"] for entry in caught.value.changes or ()] == [done["rev"]]
    with pytest.raises(IntegrityRequired):
        client.patch(chat["id"], [edit])
    assert client.patch(chat["id"], [edit], integrity=done["integrity"])["applied"] == 1
    assert [entry["kind"] for entry in client.get_changes(chat["id"], done["rev"])["changes"]] == ["patch"]


@plain_call
def test_changes_of_many_pages_come_as_one(client: Any, chat: dict[str, Any]) -> None:
    for number in range(12):  # a message of 100 kB each, in pages of up to 1 MB
        client.append(chat["id"], [{"mes": f"{number} {'x' * 50_000}"}])
    reply = client.get_changes(chat["id"], chat["integrity"])
    assert [entry["rev"] for entry in reply["changes"]] == list(range(chat["rev"] + 1, reply["rev"] + 1))
    told = [message["mes"] for entry in reply["changes"] for message in entry["messages"]]
    assert [int(text.split()[0]) for text in told] == list(range(12))


@plain_call
def test_conflicts_name_what_both_changed(client: Any, chat: dict[str, Any]) -> None:
    edit: Any = {"index": 1, "set": {"mes": "Gone."}}
    client.patch(chat["id"], [edit], integrity=chat["integrity"])
    other: Any = {"index": 1, "set": {"mes": "Lost."}}
    with pytest.raises(IntegrityConflict) as caught:
        client.patch(chat["id"], [other], integrity=chat["integrity"], on_conflict="rebase")
    assert [conflict["theirs"]["mes"] for conflict in caught.value.conflicts] == ["Gone."]


@plain_call
def test_bad_input_is_named(client: Any, chat: dict[str, Any]) -> None:
    with pytest.raises(Invalid) as caught:
        client.append(chat["id"], [{"mes": "fine"}, {"mes": "\ud800"}])
    assert [error["pointer"] for error in caught.value.errors] == ["/messages/1/mes"]


def test_a_wrong_token_is_told(proxy: Proxy) -> None:
    with Loci(proxy.url, "wrong", http=httpx.Client(**PLAIN)) as loci, pytest.raises(Unauthenticated):
        loci.list_chats()


@plain_call
def test_undo_and_branch(client: Any, chat: dict[str, Any]) -> None:
    branch = client.branch_chat(chat["id"], 1, title="Other end", checkpoint=True)
    assert (branch["title"], branch["message_count"], branch["parent"]) == ("Other end", 2, chat["id"])
    undone = client.undo(chat["id"], integrity=chat["integrity"])
    assert (undone["kind"], len(undone["deleted"])) == ("append", 3)
    with pytest.raises(NothingToUndo):
        client.undo(chat["id"], integrity=undone["integrity"])


@plain_call
def test_undo_names_its_write_and_takes_back_no_other(client: Any, chat: dict[str, Any]) -> None:
    deletion: Any = {"index": 2, "delete": True}
    deleted = client.patch(chat["id"], [deletion], integrity=chat["integrity"])
    edit: Any = {"index": 0, "set": {"mes": "Later."}}
    edited = client.patch(chat["id"], [edit], integrity=deleted["integrity"])
    assert client.undo(chat["id"], rev=deleted["rev"])["undone"] == deleted["rev"]
    now = client.get_chat(chat["id"])["integrity"]
    again = client.patch(chat["id"], [edit | {"set": {"mes": "Last."}}], integrity=now)
    with pytest.raises(UndoConflict) as caught:
        client.undo(chat["id"], rev=edited["rev"])
    assert [conflict["theirs"]["mes"] for conflict in caught.value.conflicts] == ["Last."]
    assert client.undo(chat["id"], rev=again["rev"])["kind"] == "patch"


@plain_call
def test_metadata_by_merge_and_by_operations(client: Any, chat: dict[str, Any]) -> None:
    merged = client.patch_metadata(chat["id"], {"mood": None, "lamp": {"oil": 3}}, integrity=chat["integrity"])
    assert merged["metadata"] == {"lamp": {"lit": False, "oil": 3}}
    done = client.operate_on_metadata(
        chat["id"],
        [{"op": "test", "path": "/lamp/oil", "value": 3}, {"op": "remove", "path": "/lamp/oil"}],
        integrity=merged["integrity"],
    )
    assert done["metadata"] == {"lamp": {"lit": False}}


@plain_call
def test_data_of_a_message(client: Any, chat: dict[str, Any], messages: Callable[[], list[Any]]) -> None:
    at = chat["id"], messages()[1]["id"], "weather"
    assert client.get_data(*at) == {}
    written = client.patch_data(*at, {"rain": True, "wind": None}, integrity=chat["integrity"])
    assert written["data"] == {"rain": True, "wind": None}
    client.put_value(*at, "dew", 7.5)
    assert client.get_value(*at, "dew") == 7.5
    client.delete_value(*at, "dew")
    with pytest.raises(NotFound):
        client.get_value(*at, "dew")
    assert client.get_data(*at, swipe=0) == {"rain": True, "wind": None}


@plain_call
def test_the_recap_of_a_message(client: Any, chat: dict[str, Any], messages: Callable[[], list[Any]]) -> None:
    at = chat["id"], messages()[1]["id"]
    assert client.put_recap(*at, "She knew it.")["recap"]["edited"] is True
    client.patch(
        chat["id"], [{"index": 1, "add_swipe": {"mes": "b"}}], integrity=client.get_chat(chat["id"])["integrity"]
    )
    assert client.get_recap(*at)["text"] is None
    assert client.get_recap(*at, swipe="previous")["text"] == "She knew it."
    assert client.delete_recap(*at)["recap"]["text"] is None


@plain_call
def test_settings(client: Any) -> None:
    first = client.get_settings()
    client.patch_settings({"theme": "dark"}, integrity=first["integrity"])
    both = client.patch_settings({"font": {"size": 14}}, integrity=first["integrity"], on_conflict="rebase")
    assert both["settings"] == {"theme": "dark", "font": {"size": 14}}
    with pytest.raises(IntegrityConflict) as caught:
        client.patch_settings({"theme": "light"}, integrity=first["integrity"])
    assert [(conflict["key"], conflict["theirs"]) for conflict in caught.value.conflicts] == [("theme", "dark")]


@plain_call
def test_memories(client: Any, chat: dict[str, Any], alice: User) -> None:
    index_messages(alice, Chat.objects.for_owner(alice).get())
    found = client.search_memories("the blue stone", chat=chat["id"], tiers=["messages"], limit=1)
    assert [hit["message"]["mes"] for hit in found["results"]] == ["Under the blue stone."]
    prompt = client.assemble_prompt(chat["id"], "Where was the key?", history=True)
    assert prompt["messages"]
    assert prompt["total_tokens"] > 0


# What may happen on the way


def test_a_lost_reply_is_asked_for_again(client: Any, proxy: Proxy) -> None:
    proxy.rule = losing_replies(2)
    made = client.create_chat("The heist")
    assert [chat["id"] for chat in client.chats()] == [made["id"]]
    keys = {passing.headers["Idempotency-Key"] for passing in proxy.seen if passing.method == "POST"}
    assert len(keys) == 1


def test_a_busy_server_is_given_the_time_it_asks_for(client: Any, proxy: Proxy, chat: dict[str, Any]) -> None:
    proxy.rule = answering(Answer(503), Answer(429, {"Retry-After": "0"}), Answer(500, body=b"oops"))
    assert client.append(chat["id"], [{"mes": "On."}])["message_count"] == 4
    proxy.rule = answering(Answer(429, {"Retry-After": "3600"}))
    with pytest.raises(Throttled) as caught:
        client.append(chat["id"], [{"mes": "On."}])
    assert caught.value.headers["retry-after"] == "3600"


def test_it_gives_up_in_the_end(proxy: Proxy, token: str, chat: dict[str, Any]) -> None:
    sent: list[Any] = []

    def rule(passing: Any) -> Any:
        sent.append(passing)
        raise Lost

    proxy.rule = rule
    policy = RetryPolicy(tries=3, first=0.01)
    with Loci(proxy.url, token, retry=policy, http=httpx.Client(**PLAIN)) as loci:
        with pytest.raises(Unavailable) as caught:
            loci.append(chat["id"], [{"mes": "On."}])
        assert len(sent) == 3
        proxy.rule = lambda passing: passing.send()
        done = loci.append(chat["id"], [{"mes": "On."}], key=caught.value.key)
        assert loci.append(chat["id"], [{"mes": "On."}], key=caught.value.key) == done
        with pytest.raises(KeyReused):
            loci.append(chat["id"], [{"mes": "Off."}], key=caught.value.key)


def test_a_file_is_sent_again_and_imported_once(client: Any, proxy: Proxy) -> None:
    proxy.rule = losing_replies(2)
    imported = client.import_chat(io.BytesIO(FILE), "heist.jsonl")
    assert [chat["id"] for chat in client.chats()] == [imported["chats"][0]["id"]]


class Pipe(io.BytesIO):
    def seekable(self) -> bool:
        return False


def test_what_can_not_be_rewound_is_sent_once(client: Any, proxy: Proxy) -> None:
    proxy.rule = losing_replies(1)
    with pytest.raises(Unavailable):
        client.import_chat(Pipe(FILE), "heist.jsonl")
    assert len([passing for passing in proxy.seen if passing.method == "POST"]) == 1


def test_a_large_body_goes_packed(client: Any, proxy: Proxy, chat: dict[str, Any]) -> None:
    client.append(chat["id"], [{"mes": "Long. " * 20_000}])
    sent = proxy.seen[-1]
    assert sent.headers["Content-Encoding"] == "gzip"
    assert len(sent.body) < 2000
    assert client.get_messages(chat["id"], -1)["results"][0]["mes"] == "Long. " * 20_000
