"""Chats and windows over HTTP, as api.md has them."""

import uuid
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection
from django.db.models import F
from rest_framework.test import APIClient

from apps.chats.models import Participant
from tests.contract.conftest import client_of

CHAT_FIELDS = set(
    "id title character user_name metadata integrity rev message_count last_active created_at updated_at".split()
)
MESSAGE_FIELDS = set(
    "id index rev name is_user is_system send_date mes extra swipe_id swipes swipe_info hidden "
    "created_at updated_at".split()
)


def test_a_chat_is_created_listed_changed_and_deleted(alice: APIClient) -> None:
    created = alice.post("/api/v1/chats/", {"title": "One", "metadata": {"mood": "calm"}})
    assert created.status_code == 201
    assert set(created.json()) >= CHAT_FIELDS
    assert created.json()["metadata"] == {"mood": "calm"}
    url = f"/api/v1/chats/{created.json()['id']}/"
    assert [chat["id"] for chat in alice.get("/api/v1/chats/").json()["results"]] == [created.json()["id"]]
    assert alice.patch(url, {"title": "Two"}).json()["title"] == "Two"
    assert alice.delete(url).status_code == 204
    assert alice.get(url).status_code == 404


def test_a_deleted_chat_is_in_the_bin_until_it_is_restored(alice: APIClient) -> None:
    created = alice.post("/api/v1/chats/", {"title": "One"}).json()
    url = f"/api/v1/chats/{created['id']}/"
    assert created["deleted_at"] is None
    assert alice.post(f"{url}restore/").status_code == 404
    assert alice.delete(url).status_code == 204
    [listed] = alice.get("/api/v1/chats/", {"deleted": "true"}).json()["results"]
    assert (listed["id"], listed["rev"], bool(listed["deleted_at"])) == (created["id"], created["rev"], True)
    assert alice.get("/api/v1/chats/").json()["results"] == []
    restored = alice.post(f"{url}restore/")
    assert (restored.status_code, restored.json()["integrity"]) == (200, created["integrity"])
    assert alice.get("/api/v1/chats/", {"deleted": "true"}).json()["results"] == []
    assert alice.get(url).json()["deleted_at"] is None


@pytest.mark.parametrize("in_bin", [False, True])
def test_a_purged_chat_is_gone(alice: APIClient, in_bin: bool) -> None:
    url = f"/api/v1/chats/{alice.post('/api/v1/chats/', {'title': 'One'}).json()['id']}/"
    if in_bin:
        alice.delete(url)
    assert alice.delete(f"{url}?purge=true").status_code == 204
    assert alice.delete(f"{url}?purge=true").status_code == 404
    assert alice.post(f"{url}restore/").status_code == 404
    assert alice.get("/api/v1/chats/", {"deleted": "true"}).json()["results"] == []


@pytest.mark.parametrize("at", ["deletion", "purge", None])
def test_what_a_character_learnt_is_kept_on_demand(alice: APIClient, at: str | None) -> None:
    character = alice.post("/api/v1/characters/", {"name": "Mira"}).json()["id"]
    chat = alice.post("/api/v1/chats/", {"title": "One", "character": character}).json()["id"]
    alice.post("/api/v1/memories/", {"text": "Tom sold the ferry.", "kind": "event", "chat": chat})
    keep = "keep_memories=true"
    alice.delete(f"/api/v1/chats/{chat}/?{keep if at == 'deletion' else ''}")
    listed = alice.get("/api/v1/memories/", {"character": character}).json()["results"]
    assert len(listed) == (1 if at == "deletion" else 0)
    alice.delete(f"/api/v1/chats/{chat}/?purge=true&{keep if at == 'purge' else ''}")
    listed = alice.get("/api/v1/memories/", {"character": character}).json()["results"]
    assert [memory["chat"] for memory in listed] == ([] if at is None else [None])


def test_the_list_begins_with_the_newest_activity_and_pages_by_cursor(alice: APIClient) -> None:
    ids = [alice.post("/api/v1/chats/", {"title": str(n)}).json()["id"] for n in range(5)]
    alice.post(f"/api/v1/chats/{ids[1]}/append/", {"message": {"mes": "hello"}})
    first = alice.get("/api/v1/chats/", {"limit": 3}).json()
    second = alice.get(first["next"]).json()
    listed = [chat["id"] for page in (first, second) for chat in page["results"]]
    assert listed == [ids[1], ids[4], ids[3], ids[2], ids[0]]
    assert first["previous"] is None
    assert second["next"] is None


def test_the_list_searches_titles_and_texts(alice: APIClient, chat: dict[str, Any]) -> None:
    alice.post("/api/v1/chats/", {"title": "Another"})
    for words in ("heist", "blue STONE"):
        found = alice.get("/api/v1/chats/", {"q": words}).json()["results"]
        assert [item["id"] for item in found] == [chat["id"]]
    assert alice.get("/api/v1/chats/", {"q": "nowhere"}).json()["results"] == []


def test_a_chat_without_a_title_is_named_for_its_character(alice: APIClient) -> None:
    mira = alice.post("/api/v1/characters/", {"name": "Mira"}).json()
    chat = alice.post("/api/v1/chats/", {"character": mira["id"]}).json()
    assert (chat["title"], chat["character"]) == ("Mira", mira["id"])
    assert [c["id"] for c in alice.get("/api/v1/chats/", {"character": mira["id"]}).json()["results"]] == [chat["id"]]


def test_a_new_title_is_a_write_like_others(alice: APIClient, chat: dict[str, Any]) -> None:
    """It has a rev and an integrity, and whoever follows the chat is told of it."""
    url, mira = f"/api/v1/chats/{chat['id']}/", alice.post("/api/v1/characters/", {"name": "Mira"}).json()
    named = alice.patch(url, {"title": "The quay", "character": mira["id"], "user_name": "Wanda"}).json()
    assert named["rev"] == chat["rev"] + 1
    assert named["integrity"] != chat["integrity"]
    assert alice.patch(url, {"title": "The quay"}).json() == named  # as it was: nothing is written
    alice.patch(url, {"title": "The pier"})
    feed = alice.get(f"{url}changes/", {"since": chat["integrity"]}).json()
    now = {"title": "The pier", "character": mira["id"], "user_name": "Wanda", "persona": None}
    assert [(change["kind"], change["chat"]) for change in feed["changes"]] == [("details", now)] * 2
    assert (feed["integrity"], feed["rev"]) == (alice.get(url).json()["integrity"], chat["rev"] + 2)
    late = {"integrity": chat["integrity"], "patches": [{"index": 0, "set": {"mes": "x"}}]}
    stale = alice.post(f"{url}patch/", late)
    assert (stale.status_code, [change["chat"] for change in stale.json()["changes"]]) == (409, [now] * 2)
    assert alice.post(f"{url}patch/", late | {"on_conflict": "rebase"}).status_code == 200
    since = alice.get(f"{url}changes/", {"since": feed["rev"]}).json()
    assert [(change["kind"], change["chat"]) for change in since["changes"]] == [("patch", None)]


def test_a_window_of_messages(alice: APIClient, chat: dict[str, Any]) -> None:
    url = f"/api/v1/chats/{chat['id']}/messages/"
    window = alice.get(url, {"from": 1, "limit": 1}).json()
    assert {key: window[key] for key in ("integrity", "rev", "total", "from")} == {
        "integrity": chat["integrity"],
        "rev": chat["rev"],
        "total": 3,
        "from": 1,
    }
    (message,) = window["results"]
    assert set(message) >= MESSAGE_FIELDS
    assert message["mes"] == "Under the blue stone."
    assert message["extra"] == {"model": "m"}
    assert message["swipes"] == ["Under the blue stone."]


@pytest.mark.parametrize(
    ("start", "indexes"), [(0, [0, 1, 2]), (-2, [1, 2]), (-9, [0, 1, 2]), (2, [2]), (3, []), (99, [])]
)
def test_a_window_begins_where_it_is_asked_to(
    alice: APIClient, chat: dict[str, Any], start: int, indexes: list[int]
) -> None:
    window = alice.get(f"/api/v1/chats/{chat['id']}/messages/", {"from": start}).json()
    assert [message["index"] for message in window["results"]] == indexes


def test_a_window_costs_the_same_queries_whatever_its_size(
    alice: APIClient, chat: dict[str, Any], django_assert_num_queries: Any
) -> None:
    alice.post(f"/api/v1/chats/{chat['id']}/append/", {"messages": [{"mes": str(n)} for n in range(100)]})
    for limit in (2, 100):
        with django_assert_num_queries(2):  # token, window
            alice.get(f"/api/v1/chats/{chat['id']}/messages/", {"limit": limit})


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("start", [0, 2, 3, -2])
def test_a_window_is_of_one_state_whatever_is_appended_meanwhile(
    alice: APIClient, chat: dict[str, Any], start: int
) -> None:
    def append_in_another_connection() -> None:
        client = client_of(alice.user)
        assert client.post(f"/api/v1/chats/{chat['id']}/append/", {"message": {"mes": "Meanwhile"}}).status_code == 201
        connection.close()

    def append_after(execute: Any, *arguments: Any) -> Any:
        result = execute(*arguments)
        with ThreadPoolExecutor() as threads:
            threads.submit(append_in_another_connection).result()
        return result

    with connection.execute_wrapper(append_after):
        window = alice.get(f"/api/v1/chats/{chat['id']}/messages/", {"from": start}).json()
    assert window["total"] == window["rev"] + 1  # creation, three messages at once, then one with each rev
    assert [message["index"] for message in window["results"]] == list(range(window["from"], window["total"]))


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"title": 5}, "/title"),
        ({"title": "x" * 201}, "/title"),
        ({"title": "a\x00b"}, "/title"),
        ({"title": "x", "metadata": []}, "/metadata"),
        ({"title": "x", "metadata": {"k": ["\x00"]}}, "/metadata/k/0"),
        ({"title": "x", "character": "nobody"}, "/character"),
        ({"title": "x", "character": str(uuid.uuid4())}, "/character"),
        ({"title": "x", "colour": "red"}, "/colour"),
    ],
)
def test_a_bad_chat_names_the_field(alice: APIClient, body: dict[str, Any], pointer: str) -> None:
    reply = alice.post("/api/v1/chats/", body)
    assert reply.status_code == 400
    assert reply["Content-Type"] == "application/problem+json"
    assert [error["pointer"] for error in reply.json()["errors"]] == [pointer]
    assert alice.get("/api/v1/chats/").json()["results"] == []


@pytest.mark.parametrize(
    "body",
    [
        b"{", b"nul", b"\xff\xfe", b'{"title": NaN}', b'{"title": "a", "title": "b"}', b"[" * 100_000,
        b'{"title": ' + b"9" * 10_000 + b"}", b"[1]", b'"text"',
    ],
)  # fmt: skip
def test_a_body_that_is_no_object_is_a_400(alice: APIClient, body: bytes) -> None:
    reply = alice.generic("POST", "/api/v1/chats/", body, content_type="application/json")
    assert reply.status_code == 400, reply.content
    assert reply["Content-Type"] == "application/problem+json"


def test_a_lone_surrogate_is_named(alice: APIClient) -> None:
    body = b'{"title": "x", "metadata": {"a": "\\ud800"}}'
    reply = alice.generic("POST", "/api/v1/chats/", body, content_type="application/json")
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"] == "/metadata/a"


def test_other_content_types_are_refused(alice: APIClient) -> None:
    assert alice.generic("POST", "/api/v1/chats/", b"<a/>", content_type="text/xml").status_code == 415


@pytest.mark.parametrize("query", [{"limit": "many"}, {"limit": 0}, {"from": "x"}, {"from": 2**70}])
def test_a_bad_window_is_a_400(alice: APIClient, chat: dict[str, Any], query: dict[str, Any]) -> None:
    assert alice.get(f"/api/v1/chats/{chat['id']}/messages/", query).status_code == 400


def test_nobody_signed_in_is_a_401(client: Any, db: None) -> None:
    reply = client.get("/api/v1/chats/")
    assert reply.status_code == 401
    assert reply["WWW-Authenticate"].startswith("Bearer")
    assert reply["Content-Type"] == "application/problem+json"


@pytest.mark.parametrize("header", ["Bearer", "Bearer nonsense", "Bearer a b", "Bearer \xff"])
def test_a_broken_token_is_a_401(client: Any, db: None, header: str) -> None:
    assert client.get("/api/v1/chats/", headers={"Authorization": header}).status_code == 401


def test_a_token_for_reading_does_not_write(alice: APIClient, chat: dict[str, Any]) -> None:
    reader = client_of(alice.user, scope="read")
    assert reader.get(f"/api/v1/chats/{chat['id']}/").status_code == 200
    assert reader.patch(f"/api/v1/chats/{chat['id']}/", {"title": "x"}).status_code == 403


# Where a chat stands in the list


def test_a_chat_is_pinned_archived_and_tagged_without_a_write_to_it(alice: APIClient) -> None:
    chat = alice.post("/api/v1/chats/", {"title": "One"}).json()
    reply = alice.patch(f"/api/v1/chats/{chat['id']}/", {"pinned": True, "archived": True, "tags": ["a", "b", "a"]})
    assert reply.status_code == 200, reply.content
    body = reply.json()
    assert (body["pinned"], body["archived"], body["tags"]) == (True, True, ["a", "b"])
    assert (body["integrity"], body["rev"]) == (chat["integrity"], chat["rev"])


@pytest.mark.parametrize(
    "fields", [{"tags": ["a,b"]}, {"tags": [""]}, {"tags": ["x" * 51]}, {"tags": [str(n) for n in range(21)]}]
)
def test_tags_have_limits(alice: APIClient, fields: dict[str, Any]) -> None:
    chat = alice.post("/api/v1/chats/", {"title": "One"}).json()
    reply = alice.patch(f"/api/v1/chats/{chat['id']}/", fields)
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"].startswith("/tags")


def test_the_list_is_filtered_by_tag_pin_and_archive(alice: APIClient) -> None:
    first, second = (alice.post("/api/v1/chats/", {"title": title}).json() for title in ("First", "Second"))
    alice.patch(f"/api/v1/chats/{first['id']}/", {"pinned": True, "archived": True, "tags": ["dark"]})

    def found(query: str) -> set[str]:
        return {chat["id"] for chat in alice.get(f"/api/v1/chats/?{query}").json()["results"]}

    both = {first["id"], second["id"]}
    assert found("") == both
    assert found("tag=dark") == found("pinned=true") == found("archived=true") == {first["id"]}
    assert found("archived=false") == found("pinned=false") == {second["id"]}
    assert found("tag=other") == set()


def test_the_messages_of_a_branch_stay_those_of_their_speakers_whatever_these_are_called_by_now(
    alice: APIClient,
) -> None:
    base = f"/api/v1/chats/{alice.post('/api/v1/chats/', {'title': 'Group'}).json()['id']}/"
    first = alice.post(f"{base}participants/", {"name": "Anna"}).json()["id"]
    alice.post(f"{base}append/", {"messages": [{"mes": "One", "participant": first}]})
    alice.patch(f"{base}participants/{first}/", {"name": "Anne"})
    other = alice.post(f"{base}participants/", {"name": "Anna"}).json()["id"]
    alice.post(f"{base}append/", {"messages": [{"mes": "Two", "participant": other}, {"mes": "Three", "name": "Bo"}]})
    branch = alice.post(f"{base}branch/", {"at": 2}).json()["id"]
    names = {row["id"]: row["name"] for row in alice.get(f"/api/v1/chats/{branch}/participants/").json()["results"]}
    rows = alice.get(f"/api/v1/chats/{branch}/messages/").json()["results"]
    speakers = [names.get(row["participant"]) for row in rows]
    assert speakers == ["Anne", "Anna", None]


def test_the_messages_of_a_branch_are_of_the_same_speakers_where_positions_have_gaps(
    alice: APIClient, chat: dict[str, Any]
) -> None:
    base = f"/api/v1/chats/{chat['id']}/"
    for name in ("Mira", "Tam"):
        alice.post(f"{base}participants/", {"name": name})
    with_gap(alice, chat)
    branch = alice.post(f"{base}branch/", {"at": 2}).json()["id"]
    names = {row["id"]: row["name"] for row in alice.get(f"/api/v1/chats/{branch}/participants/").json()["results"]}
    assert list(names.values()) == ["Mira", "Tam"]
    rows = alice.get(f"/api/v1/chats/{branch}/messages/").json()["results"]
    assert [names.get(row["participant"]) for row in rows] == [None, "Mira", None]


def test_who_joins_comes_last_where_positions_have_gaps(alice: APIClient, chat: dict[str, Any]) -> None:
    participants = f"/api/v1/chats/{chat['id']}/participants/"
    alice.post(participants, {"name": "Mira"})
    with_gap(alice, chat)
    assert alice.post(participants, {"name": "Tam"}).status_code == 201
    connection.check_constraints()  # as at the end of the transaction
    assert [one["name"] for one in alice.get(participants).json()["results"]] == ["Mira", "Tam"]


def with_gap(alice: APIClient, chat: dict[str, Any]) -> None:
    """Have the members' positions begin at 1, as a restored archive may have them."""
    Participant.objects.for_owner(alice.user).filter(chat=chat["id"]).update(position=F("position") + 1)
