"""Corrections that several clients send at once, or one client sends oddly: none is lost, none is an error of ours."""

import datetime as dt
import threading
from collections.abc import Callable
from typing import Any

import pytest
from django.db import connections
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.chats.models import Lorebook, Message
from apps.chats.operations import branch_chat
from apps.chats.operations.lorebooks import update_lorebook
from apps.memories.models import LedgerEntry, Memory, VersionedText
from apps.memories.operations import merging
from apps.memories.operations.memories import add_instances, edit_memory
from apps.memories.operations.superseding import supersede
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_character, make_chat, make_memory

CLIENTS = 6


def at_once(action: Callable[[int], object]) -> list[object]:
    """Call ``action`` with 0, 1, … in threads that start together, and return what the calls returned or raised."""
    barrier, results = threading.Barrier(CLIENTS), list[object]()

    def call(number: int) -> None:
        barrier.wait()
        try:
            results.append(action(number))
        except Exception as error:
            results.append(error)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=call, args=(number,)) for number in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return results


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(
    ("layer", "body"),
    [
        ("ledger", {"entity": "Mira", "type": "character", "field": "mood", "value": "mood {}"}),
        ("relationships", {"subject": "Mira", "target": "Alice", "word": "warm", "magnitude": "{}"}),
        ("canon", {"text": "canon {}"}),
    ],
)
def test_a_layer_is_corrected_by_several_clients_at_once(layer: str, body: dict[str, str]) -> None:
    alice = client_of(User.objects.create_user("alice@example.com", "alice-password"))
    chat = make_chat(alice.user, "Hello.", "Yes.", character=make_character(alice.user))

    def patch(number: int) -> int:
        client = APIClient(raise_request_exception=False)
        client.credentials(**alice._credentials)
        value = ("low", "medium", "high")[number % 3] if layer == "relationships" else number
        filled = {key: text.format(value) for key, text in body.items()}
        reply: Any = client.patch(f"/api/v1/chats/{chat.pk}/{layer}/", filled, format="json")
        return int(reply.status_code)

    assert set(at_once(patch)) == {200}
    if layer == "ledger":
        assert LedgerEntry.objects.for_owner(alice.user).filter(state="current").count() == 1
    if layer == "canon":
        versions = VersionedText.objects.for_owner(alice.user).values_list("version", flat=True)
        assert sorted(versions) == list(range(1, CLIENTS + 1))


@pytest.mark.django_db(transaction=True)
def test_each_edit_of_a_memory_counts() -> None:
    memory = make_memory(make_chat(UserFactory()), "Tom likes tea.")

    def stored() -> Memory:
        return Memory.objects.for_owner(memory.owner_id).get(pk=memory.pk)

    def edit(number: int) -> Memory:
        return edit_memory(stored(), editor="alice", importance=1 + number % 3)

    assert all(isinstance(result, Memory) for result in at_once(edit))
    assert stored().version == memory.version + CLIENTS


@pytest.mark.django_db(transaction=True)
def test_two_fields_of_a_lorebook_are_changed_at_once() -> None:
    document = {"name": "World", "entries": []}
    book = Lorebook.objects.create(owner=UserFactory(), name="World", document=document, source_format="card")
    stored = Lorebook.objects.for_owner(book.owner_id).filter(pk=book.pk)
    fields = [{"description": "Salt and sea."}, {"scan_depth": 7}]
    results = at_once(lambda number: update_lorebook(stored.get(), **fields[number % 2]))
    assert all(isinstance(result, Lorebook) for result in results)
    changed = stored.get().document
    assert (changed["description"], changed["scan_depth"]) == ("Salt and sea.", 7)


def test_a_source_may_be_named_twice(alice: APIClient) -> None:
    chat = make_chat(alice.user, "Tom likes tea.")
    source = str(Message.objects.for_owner(alice.user).get().pk)
    body = {"text": "Tom likes tea.", "chat": str(chat.pk), "source_messages": [source, source]}
    reply = alice.post("/api/v1/memories/", body, format="json")
    assert (reply.status_code, reply.json()["source_messages"]) == (201, [source])


def test_a_memory_is_split_once(alice: APIClient) -> None:
    memory = make_memory(make_chat(alice.user, "Hello."), "Tom likes tea and Mira likes coffee.")
    url, body = f"/api/v1/memories/{memory.pk}/split/", {"texts": ["Tom likes tea.", "Mira likes coffee."]}
    assert [alice.post(url, body, format="json").status_code for _ in range(2)] == [201, 409]
    assert Memory.objects.for_owner(alice.user).filter(state="active").count() == 2


def while_embedding(monkeypatch: pytest.MonkeyPatch, action: Callable[[], object]) -> None:
    """Have ``action`` happen while the texts of a merge or a split are embedded."""
    embed = merging.vectors_of

    def vectors_of(*args: Any) -> Any:
        action()
        return embed(*args)

    monkeypatch.setattr(merging, "vectors_of", vectors_of)


@pytest.mark.parametrize(
    "change",
    [
        {"text": "Tom likes coffee and hates rain."},
        {"tags": ["drinks"]},
        {"expires_at": dt.datetime(2099, 1, 1, tzinfo=dt.UTC)},
    ],
    ids=lambda change: next(iter(change)),
)
def test_what_is_changed_meanwhile_is_neither_merged_nor_split(
    alice: APIClient, monkeypatch: pytest.MonkeyPatch, change: dict[str, Any]
) -> None:
    chat = make_chat(alice.user, "Hello.")
    one, other = (make_memory(chat, text) for text in ("Tom likes tea and hates rain.", "Tom hates rain."))
    while_embedding(monkeypatch, lambda: edit_memory(one, editor="bob", **change))
    merge = {"memories": [str(one.pk), str(other.pk)], "text": "Tom likes tea, not rain."}
    for path, body in (("merge", merge), (f"{one.pk}/split", {"texts": ["Tom likes tea.", "Tom hates rain."]})):
        reply = alice.post(f"/api/v1/memories/{path}/", body)
        assert (reply.status_code, reply.json()["detail"][:20]) == (409, "The text was changed")
    assert set(Memory.objects.for_owner(alice.user).active()) == {one, other}
    assert Memory.objects.for_owner(alice.user).count() == 2


def test_a_successor_has_what_its_members_have_when_they_are_locked(
    alice: APIClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = make_chat(alice.user, "Hello.")
    members = [make_memory(chat, text) for text in ("Tom likes tea.", "Tom likes green tea.")]
    while_embedding(monkeypatch, lambda: add_instances(alice.user, members[0].pk, ["desk"]))
    merged = merging.merge_by_hand(members, "Tom drinks green tea.", editor="alice")
    assert merged.participating_instances == ["desk"]
    (part, _) = merging.split_memory(merged, ["Tom drinks tea.", "It is green."], editor="alice")
    assert part.participating_instances == ["desk"]


@pytest.mark.django_db
def test_a_pinned_memory_is_not_replaced_in_a_branch_either() -> None:
    owner = UserFactory()
    chat = make_chat(owner, "One.", "Two.", "Three.", character=make_character(owner))
    messages = list(Message.objects.for_owner(owner).filter(chat=chat).order_by("index"))
    pinned = make_memory(chat, "Tom lives in Paris.", pinned=True, valid_from=messages[0])
    branch = branch_chat(owner, chat.pk, 2)
    supersede(branch, pinned.pk, make_memory(branch, "Tom lives in Rome."), keep_pinned=True)
    assert pinned in Memory.objects.for_owner(owner).active_in(branch)
