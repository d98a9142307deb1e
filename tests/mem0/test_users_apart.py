"""Nothing of one end user reaches another one, nor another account."""

import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import pytest
from django.db import OperationalError, connection, transaction

from apps.accounts.models import User
from apps.chats.models import Character, Chat
from apps.common import jobs
from apps.mem0 import ids
from apps.mem0.ids import Ids, chat_of, erase_entity
from apps.memories.models import Memory
from apps.memories.operations.memories import delete_memory, restore_memory
from tests.mem0.conftest import SdkRequests
from tests.queues import drain

ANY_USER: list[Any] = [{"user_id": "*"}, {"OR": [{"user_id": "*"}, {"agent_id": "*"}]}]


def test_users_see_what_is_theirs(alice: SdkRequests) -> None:
    alice.store("Ann keeps bees.", user_id="ann", agent_id="cook")
    alice.store("Bob keeps bees.", user_id="bob", agent_id="cook")
    alice.store("The cook keeps bees.", agent_id="cook")
    assert alice.search("bees", filters={"user_id": "ann"}) == ["Ann keeps bees."]
    assert alice.get_all({"AND": [{"agent_id": "cook"}]}) == ["The cook keeps bees."]
    assert alice.get_all({"user_id": {"ne": "ann"}}) == ["The cook keeps bees."]
    either = {"OR": [{"user_id": "ann"}, {"agent_id": {"in": ["cook", "waiter"]}}]}
    assert alice.get_all(either) == ["Ann keeps bees.", "The cook keeps bees."]
    assert alice.get_all({"AND": [{"user_id": {"in": ["ann", "bob"]}}, {"NOT": [{"user_id": "bob"}]}]}) == [
        "Ann keeps bees."
    ]
    assert alice.get_all({"user_id": "*"}) == ["Ann keeps bees.", "Bob keeps bees."]


@pytest.mark.parametrize("filters", ANY_USER)
def test_another_account_sees_nothing(
    alice: SdkRequests, sdk: Callable[[str], SdkRequests], filters: dict[str, Any]
) -> None:
    memory_id = alice.store("Ann keeps bees.", user_id="ann", agent_id="cook")
    charlie = sdk("charlie")
    assert charlie.get_all(filters) == []
    assert charlie.search("bees", filters=filters) == []
    for path in (f"/v1/memories/{memory_id}/", f"/v1/memories/{memory_id}/history/"):
        assert charlie.refused("get", path)["status"] == 404
    assert charlie.refused("delete", f"/v1/memories/{memory_id}/")["status"] == 404
    assert charlie.refused("put", f"/v1/memories/{memory_id}/", {"text": "Mine."})["status"] == 404
    charlie.ok("delete", "/v2/entities/user/ann/")
    assert alice.get_all({"user_id": "ann"}) == ["Ann keeps bees."]
    assert charlie.ok("get", "/v1/entities/")["results"] == []


@pytest.mark.django_db(transaction=True)
def test_what_two_users_say_is_remembered_for_each(alice: SdkRequests) -> None:
    """The same words of another user are no duplicate, and no prompt of one tells what the other said."""
    for user in ("ann", "bob"):
        alice.add("I am allergic to peanuts. I live in Lisbon.", user_id=user, agent_id="cook")
    drain("extraction")
    for user in ("ann", "bob"):
        assert any("peanuts" in text for text in alice.get_all({"user_id": user}))
    alice.store("Bob hides the golden key.", user_id="bob", agent_id="cook")
    with transaction.atomic():
        chat = chat_of(alice.user, Ids(user="ann", agent="cook"))
    reply = alice.http.post(f"/api/v1/chats/{chat.pk}/prompt/", {"text": "Who hides the golden key?"}, format="json")
    assert "golden key" not in "".join(slot["text"] for slot in reply.json()["slots"])
    assert alice.http.get("/api/v1/chats/").json()["results"] == []
    assert alice.http.get("/api/v1/memories/").json()["results"] == []


@pytest.mark.django_db(transaction=True)
def test_two_writers_at_once_share_a_chat_and_a_character(sdk: Callable[[str], SdkRequests]) -> None:
    alice = sdk("alice")

    def add(number: int) -> None:
        try:
            alice.add(f"Number {number}.", user_id="ann", agent_id="cook", run_id=f"r{number % 2}", infer=False)
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=4) as executor:
        list(executor.map(add, range(6)))
    assert Chat.objects.for_owner(alice.user).in_namespace("ann").count() == 2
    assert Character.objects.for_owner(alice.user).in_namespace("ann").count() == 1
    assert Memory.objects.for_owner(alice.user).in_namespace("ann").count() == 6


@contextmanager
def meanwhile(work: Callable[[], object]) -> Iterator[None]:
    """Have something written by another transaction, which is committed half a second later."""
    is_written = threading.Event()

    def write() -> None:
        try:
            with transaction.atomic():
                work()
                is_written.set()
                time.sleep(0.5)
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=1) as executor:
        writing = executor.submit(write)
        assert is_written.wait(30)
        yield
        writing.result()


@pytest.mark.django_db(transaction=True)
def test_what_is_deleted_meanwhile_keeps_nothing_else_from_being_deleted(sdk: Callable[[str], SdkRequests]) -> None:
    alice = sdk("alice")
    first, second = (alice.store(text, user_id="ann") for text in ("One.", "Two."))
    rows = Memory.objects.for_owner(alice.user)
    with meanwhile(lambda: delete_memory(rows.get(pk=first))):
        alice.ok("delete", "/v1/memories/?user_id=ann")
    assert alice.get_all({"user_id": "ann"}) == []
    with meanwhile(lambda: restore_memory(rows.get(pk=first))):
        pass
    with meanwhile(lambda: delete_memory(rows.get(pk=first))):
        assert alice.refused("delete", f"/v1/memories/{first}/")["status"] == 404
    for work in ("put", "delete"):
        restore_memory(rows.get(pk=first))
        restore_memory(rows.get(pk=second))
        body = {
            "memories": [{"memory_id": pk, **({"text": "New."} if work == "put" else {})} for pk in (first, second)]
        }
        with meanwhile(lambda: delete_memory(rows.get(pk=first))):
            assert alice.refused(work, "/v1/batch/", body)["status"] == 404
        assert alice.get_all({"user_id": "ann"}) == ["Two."]


@pytest.mark.django_db(transaction=True)
def test_who_finds_the_chat_that_another_request_created_meanwhile_locks_it_before_its_owner(
    sdk: Callable[[str], SdkRequests], monkeypatch: pytest.MonkeyPatch
) -> None:
    alice, created = sdk("alice"), []

    def lock_later(owner: Any) -> None:
        monkeypatch.undo()
        created.append(in_another_thread(lambda: chat_of(alice.user, Ids(user="ann"))))
        jobs.lock_owner(owner)

    monkeypatch.setattr(ids, "lock_owner", lock_later)
    with transaction.atomic():
        assert chat_of(alice.user, Ids(user="ann")) == created[0]
        owners = User.objects.filter(pk=alice.user.pk).select_for_update(nowait=True, no_key=True)
        in_another_thread(owners.get)
        with pytest.raises(OperationalError):
            in_another_thread(Chat.objects.for_owner(alice.user).select_for_update(nowait=True).get)


def in_another_thread(work: Callable[[], Any]) -> Any:
    def run() -> Any:
        try:
            with transaction.atomic():
                return work()
        finally:
            connection.close()

    with ThreadPoolExecutor(max_workers=1) as executor:
        return executor.submit(run).result()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("infer", [False, True])
def test_what_is_added_while_its_user_is_deleted_is_stored_afterwards(
    sdk: Callable[[str], SdkRequests], infer: bool
) -> None:
    alice = sdk("alice")
    alice.store("Before.", user_id="ann", agent_id="cook")
    with meanwhile(lambda: erase_entity(alice.user, "user", "ann")):
        alice.add("I keep bees.", user_id="ann", agent_id="cook", infer=infer)
    assert alice.get_all({"user_id": "ann"}) == ([] if infer else ["I keep bees."])
    assert Chat.objects.for_owner(alice.user).in_namespace("ann").count() == 1
