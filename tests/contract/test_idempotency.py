"""An Idempotency-Key on any write of the API: the reply is stored with the write, and given again."""

import datetime as dt
import json
import threading
from typing import Any

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.client import encode_multipart
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.operations import delete_account
from apps.chats.models import Chat
from apps.chats.tasks import purge_old_chats, trim_change_logs
from apps.sync.models import IdempotencyRecord
from apps.sync.tasks import sweep_idempotency_records
from tests.contract.conftest import client_of

KEY = {"HTTP_IDEMPOTENCY_KEY": "k1"}
LINES = ('{"user_name":"Alice","character_name":"Mira"}', '{"name":"Mira","is_user":false,"mes":"Hello."}')


def test_creating_updating_and_deleting_are_replayed(alice: APIClient) -> None:
    first = alice.post("/api/v1/chats/", {"title": "Once"}, **KEY)
    again = alice.post("/api/v1/chats/", {"title": "Once"}, **KEY)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.json() == first.json()
    assert (again["Idempotent-Replayed"], again["Content-Type"]) == ("true", first["Content-Type"])
    assert "Idempotent-Replayed" not in first
    url = f"/api/v1/chats/{first.json()['id']}/"
    alice.patch(url, {"title": "Twice"}, HTTP_IDEMPOTENCY_KEY="k2")
    alice.patch(url, {"title": "Thrice"})
    assert alice.patch(url, {"title": "Twice"}, HTTP_IDEMPOTENCY_KEY="k2").json()["title"] == "Twice"
    assert alice.get(url).json()["title"] == "Thrice"
    gone = [alice.delete(url, HTTP_IDEMPOTENCY_KEY="k3") for _ in range(2)]
    assert [(reply.status_code, reply.content) for reply in gone] == [(204, b"")] * 2
    assert gone[1]["Idempotent-Replayed"] == "true"


def send_form(client: APIClient, boundary: str, lines: tuple[str, ...] = LINES, title: str = "T") -> Any:
    file = SimpleUploadedFile("chat.jsonl", "\n".join(lines).encode())
    body = encode_multipart(boundary, {"file": file, "title": title})
    content_type = f"multipart/form-data; boundary={boundary}"
    return client.generic("POST", "/api/v1/chats/import/", body, content_type=content_type, **KEY)


def test_a_form_is_the_same_with_another_boundary(alice: APIClient) -> None:
    """It is another one each time that a form is sent."""
    first = send_form(alice, "one")
    assert first.status_code == 201, first.content
    again = send_form(alice, "other")
    assert (again.status_code, again.json()) == (201, first.json())
    assert Chat.objects.for_owner(alice.user).count() == 1
    for reply in (send_form(alice, "one", title="U"), send_form(alice, "one", LINES[1:])):
        assert reply.status_code == 422


def test_the_key_with_another_request_is_refused(alice: APIClient) -> None:
    chat = alice.post("/api/v1/chats/", {"title": "A"}, **KEY).json()
    for reply in (
        alice.post("/api/v1/chats/", {"title": "B"}, **KEY),
        alice.post("/api/v1/characters/", {"title": "A"}, **KEY),
        alice.patch(f"/api/v1/chats/{chat['id']}/", {"title": "A"}, **KEY),
    ):
        assert reply.status_code == 422
        assert reply["Content-Type"] == "application/problem+json"
        assert reply.json()["type"] == "/problems/idempotency-key-reused"
    assert Chat.objects.for_owner(alice.user).count() == 1


def test_an_error_is_not_stored(alice: APIClient) -> None:
    chat = alice.post("/api/v1/chats/", {"title": "A"}).json()
    url = f"/api/v1/chats/{chat['id']}/patch-metadata/"
    assert alice.post(url, {"metadata": {"a": 1}}, **KEY).status_code == 428
    fixed = alice.post(url, {"metadata": {"a": 1}, "integrity": chat["integrity"]}, **KEY)
    assert fixed.status_code == 200
    assert "Idempotent-Replayed" not in fixed


@pytest.mark.parametrize(("key", "status"), [("", 400), ("k", 201), ("k" * 255, 201), ("k" * 256, 400)])
def test_a_key_has_a_length(alice: APIClient, key: str, status: int) -> None:
    reply = alice.post("/api/v1/chats/", {"title": "A"}, HTTP_IDEMPOTENCY_KEY=key)
    assert reply.status_code == status
    assert status == 201 or reply.json()["type"] == "/problems/validation"


def test_a_stranger_with_a_key_is_still_a_stranger(db: None) -> None:
    for client in (APIClient(), APIClient(HTTP_AUTHORIZATION="Bearer nothing")):
        assert client.post("/api/v1/chats/", {"title": "A"}, **KEY).status_code == 401
    assert IdempotencyRecord.objects.for_owner(None).count() == 0


def test_a_key_gives_a_reader_no_right_to_write(alice: APIClient) -> None:
    reader = client_of(alice.user, scope="read")
    assert reader.post("/api/v1/chats/", {"title": "A"}, **KEY).status_code == 403
    assert alice.post("/api/v1/chats/", {"title": "A"}, **KEY).status_code == 201


def test_the_web_session_has_keys_too(alice: APIClient) -> None:
    page = Client(enforce_csrf_checks=True)
    page.force_login(alice.user)
    page.get("/")
    body = {"data": json.dumps({"title": "A"}), "content_type": "application/json"}
    assert page.post("/api/v1/chats/", **body, **KEY).status_code == 403
    token = {"HTTP_X_CSRFTOKEN": page.cookies["csrftoken"].value}
    replies = [page.post("/api/v1/chats/", **body, **KEY, **token) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [201, 201]
    assert replies[0].json() == replies[1].json()


def test_a_form_where_none_is_taken_is_a_415(alice: APIClient) -> None:
    reply = alice.post("/api/v1/chats/", {"title": "A"}, format="multipart", **KEY)
    assert reply.status_code == 415
    assert reply["Content-Type"] == "application/problem+json"


def test_replies_are_kept_for_a_day_and_keys_for_good(alice: APIClient) -> None:
    with time_machine.travel("2026-05-01T10:00:00Z", tick=False):
        first = alice.post("/api/v1/chats/", {"title": "A"}, **KEY)
    with time_machine.travel("2026-05-02T09:59:00Z", tick=False):
        sweep_idempotency_records()
        assert alice.post("/api/v1/chats/", {"title": "A"}, **KEY).json() == first.json()
    with time_machine.travel("2026-05-02T10:01:00Z", tick=False):
        sweep_idempotency_records()
        late = alice.post("/api/v1/chats/", {"title": "A"}, **KEY)
    assert (late.status_code, late.json()["type"]) == (422, "/problems/idempotency-key-reused")
    assert Chat.objects.for_owner(alice.user).count() == 1
    assert IdempotencyRecord.objects.for_owner(alice.user).get().body is None


def test_replies_with_texts_of_an_erased_namespace_are_dropped(alice: APIClient) -> None:
    """Of tokens that are bound to no namespace as well, since they write in all."""
    ann, bob = (client_of(alice.user, namespace=name) for name in ("ann", "bob"))
    charlie = client_of(User.objects.create_user("charlie@example.com"))
    bodies = {client: {"text": f"{name} keeps bees."} for client, name in ((ann, "Ann"), (bob, "Bob"), (charlie, "I"))}
    bodies[alice] = {"text": "Ann keeps hens.", "namespace": "ann"}
    first = {client: client.post("/api/v1/memories/", body, **KEY) for client, body in bodies.items()}
    assert [reply.status_code for reply in first.values()] == [201] * 4

    erasing = [alice.delete("/api/v1/namespaces/?namespace=ann", HTTP_IDEMPOTENCY_KEY="k2") for _ in "12"]
    assert [reply.status_code for reply in erasing] == [204, 204]
    again = {client: client.post("/api/v1/memories/", body, **KEY) for client, body in bodies.items()}
    assert [again[client].status_code for client in (ann, alice)] == [422, 422]
    assert [again[client].json() for client in (bob, charlie)] == [first[client].json() for client in (bob, charlie)]
    kept = IdempotencyRecord.objects.for_owner(alice.user).filter(body__isnull=False)
    assert not kept.filter(body__contains="Ann keeps").exists()


def told_of(alice: APIClient, words: str) -> bool:
    kept = IdempotencyRecord.objects.for_owner(alice.user).filter(body__contains=words)
    return bool(kept.exists())


@pytest.mark.parametrize("way", ["for good", "from the bin"])
def test_replies_with_texts_of_a_chat_deleted_for_good_are_dropped(alice: APIClient, way: str) -> None:
    """Also of a chat that was in the bin. A repeated write is refused then, and not executed again."""
    charlie = client_of(User.objects.create_user("charlie@example.com"))
    theirs = charlie.post("/api/v1/memories/", {"text": "Charlie keeps bees."}, **KEY)
    chat = alice.post("/api/v1/chats/", {"title": "Of bees"}).json()
    url = f"/api/v1/chats/{chat['id']}/"
    body = {"chat": chat["id"], "text": "Alice keeps bees."}
    assert alice.post("/api/v1/memories/", body, **KEY).status_code == 201
    assert told_of(alice, "keeps bees")
    if way == "from the bin":
        assert alice.delete(url).status_code == 204
        assert told_of(alice, "keeps bees")  # it can be restored
    assert alice.delete(f"{url}?purge=true").status_code == 204
    assert not told_of(alice, "bees")
    assert alice.post("/api/v1/memories/", body, **KEY).status_code == 422
    assert charlie.post("/api/v1/memories/", {"text": "Charlie keeps bees."}, **KEY).json() == theirs.json()


def test_a_chat_whose_time_in_the_bin_is_over_leaves_replies_that_are_younger(alice: APIClient) -> None:
    """They can't hold its texts, and a write whose answer was lost is not to be refused for it."""
    old = alice.post("/api/v1/chats/", {"title": "Of bees"}).json()
    with time_machine.travel(timezone.now() - dt.timedelta(days=31)):
        assert alice.delete(f"/api/v1/chats/{old['id']}/").status_code == 204
    body = {"text": "Alice keeps hens."}
    first = alice.post("/api/v1/memories/", body, **KEY)
    purge_old_chats()
    assert alice.get(f"/api/v1/chats/{old['id']}/").status_code == 404
    assert alice.post("/api/v1/memories/", body, **KEY).json() == first.json()


@pytest.mark.parametrize(("kind", "name"), [("user", "ann"), ("agent", "cook"), ("run", "r1")])
def test_replies_with_texts_of_a_deleted_entity_of_mem0_are_dropped(alice: APIClient, kind: str, name: str) -> None:
    messages = [{"role": "user", "content": "Ann keeps bees."}]
    added = {"messages": messages, "user_id": "ann", "agent_id": "cook", "run_id": "r1", "infer": False}
    memory = alice.post("/mem0/v3/memories/add/", added).json()["results"][0]["id"]
    assert alice.patch(f"/api/v1/memories/{memory}/", {"importance": 3}, **KEY).status_code == 200
    assert told_of(alice, "keeps bees")
    assert alice.delete(f"/mem0/v2/entities/{kind}/{name}/").status_code == 200
    assert not told_of(alice, "bees")


def test_replies_go_with_the_account(alice: APIClient) -> None:
    alice.post("/api/v1/memories/", {"text": "Alice keeps bees."}, **KEY)
    owner_id = alice.user.pk
    delete_account(alice.user)
    assert not IdempotencyRecord.objects.for_owner(owner_id).exists()


@pytest.mark.parametrize(
    ("route", "body"),
    [
        ("append", {"messages": [{"mes": "On."}]}),
        ("patch", {"patches": [{"index": 0, "insert_before": {"mes": "Before."}}]}),
        ("patch", {"patches": [{"index": 0, "add_swipe": {"mes": "Or so."}}]}),
        ("patch", {"patches": [{"index": 0, "splice": {"at": 0, "insert": "Well. "}}]}),
        ("undo", {}),
    ],
    ids=["append", "insert", "add_swipe", "splice", "undo"],
)
def test_a_write_repeated_after_years_happens_once(alice: APIClient, route: str, body: dict[str, Any]) -> None:
    """Also where the repetition names the state of then, with others' writes and a trimmed log since."""
    with time_machine.travel("2026-05-01T10:00:00Z", tick=False):
        chat = alice.post("/api/v1/chats/", {"title": "A"}).json()
        url = f"/api/v1/chats/{chat['id']}/"
        state = alice.post(f"{url}append/", {"message": {"mes": "Where?"}}).json()
        write = {"integrity": state["integrity"], **body}
        assert alice.post(f"{url}{route}/", write, **KEY).status_code in (200, 201)
        alice.post(f"{url}append/", {"message": {"mes": "Later."}})
    with time_machine.travel("2029-05-01T10:00:00Z", tick=False):
        sweep_idempotency_records()
        trim_change_logs()
        before = alice.get(f"{url}messages/").json()
        assert alice.post(f"{url}{route}/", write, **KEY).status_code == 422
        assert alice.get(f"{url}messages/").json() == before


@pytest.mark.django_db(transaction=True)
def test_the_same_request_at_once_is_written_once() -> None:
    alice = User.objects.create_user("alice@example.com")
    clients = [client_of(alice) for _ in range(6)]
    bodies: list[Any] = []

    def write(client: APIClient) -> None:
        try:
            bodies.append(client.post("/api/v1/chats/", {"title": "Once"}, **KEY).json())
        finally:
            connection.close()

    threads = [threading.Thread(target=write, args=(client,)) for client in clients]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(bodies) == 6
    assert all(body == bodies[0] for body in bodies)
    assert Chat.objects.for_owner(alice).count() == 1
    assert dt.datetime.fromisoformat(bodies[0]["created_at"])
