"""A restored account answers every route of the API as before; a restored chat too, and nothing else changes."""

import re
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any
from uuid import UUID

import pytest
from django.core.signing import Signer
from django.db import connection
from django.urls import get_resolver
from django.utils import translation

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.models import Character, Chat, Message
from apps.chats.operations import Patch, append_messages, branch_chat, delete_chat, patch_messages, purge_chat
from apps.common.documents.patches import DocumentPatch
from apps.common.stored_texts import gettext_stored
from apps.extraction.models import ExtractionRun, MemorySettings
from apps.extraction.settings.stores import change_settings, stored_settings
from apps.memories.models import Entity, Memory, Passage
from apps.snapshots import archives
from apps.snapshots.models import Snapshot
from apps.snapshots.tables import SnapshotScope
from apps.sync.models import SettingsDocument
from apps.sync.settings_documents import patch_settings, read_settings
from tests.contract.conftest import client_of
from tests.contract.test_owner_scope import routes, things_of_alice, url_of
from tests.factories import UserFactory, make_character, make_chat, make_memory, parsed
from tests.snapshots.making import made, restored, rows_of

pytestmark = pytest.mark.django_db(transaction=True)

# What a restore doesn't bring back: secrets, jobs and consumption (tables.LEFT_OUT); and what waits for an embedding.
ELSEWHERE = ("tokens", "imports", "model-tests", "usage", "generations", "snapshots", "reembedding")
# When a reply was made.
TIMES = re.compile(rb'"(?:exported_at|until)": ?"[^"]*"')


def wipe(owner: User) -> None:
    for table in SnapshotScope(Snapshot.Kind.ACCOUNT, owner.pk).tables:
        if table.is_owned:
            table.rows.delete()


def answers(owner: User, ids: dict[str, Any]) -> dict[str, Any]:
    """What each route of the API answers to a GET."""
    client = client_of(owner)
    found = {}
    for route in sorted(set(routes(get_resolver()))):
        if not route.startswith("api/v1/") or any(f"/{name}/" in f"/{route}" for name in ELSEWHERE):
            continue
        reply = client.get(url_of(route, ids))
        content = b"".join(reply.streaming_content) if reply.streaming else reply.content
        if reply.status_code != 405:
            found[route] = (reply.status_code, TIMES.sub(b"", content))
    return found


def texts_of(chat: Chat) -> list[str]:
    return [message.mes for message in Message.objects.for_owner(chat.owner_id).filter(chat=chat).order_by("index")]


def test_an_account_is_as_before_by_every_route() -> None:
    ids = things_of_alice() | {"category": "self", "filename": "soul.md", "task": "extract"}
    owner = ids["user"]
    ExtractionRun.objects.for_owner(owner).update(state="succeeded")
    client = client_of(owner)
    integrity = client.get("/api/v1/settings/").json()["integrity"]
    client.patch("/api/v1/settings/", {"integrity": integrity, "settings": {"volume": 1}}, format="json")
    User.objects.filter(pk=owner.pk).update(name="Alice", time_zone="Europe/Vienna")
    before = answers(owner, ids)
    assert sum(status == 200 for status, _ in before.values()) > 50
    snapshot = made(owner)
    wipe(owner)
    User.objects.filter(pk=owner.pk).update(name="", time_zone="UTC")
    assert not Chat._base_manager.filter(owner=owner).exists()
    assert restored(snapshot).state == "succeeded"
    after = answers(owner, ids)
    assert [route for route in before if after[route] != before[route]] == []
    owner.refresh_from_db()
    assert (owner.name, owner.time_zone) == ("Alice", "Europe/Vienna")


def test_what_came_after_the_snapshot_goes_and_can_be_brought_back() -> None:
    alice = UserFactory()
    chat = make_chat(alice, "The key is lost.", "Oh.")
    memory = make_memory(chat, "The key is lost.")
    snapshot = made(alice)
    later = make_chat(alice, "Another day.")
    append_messages(alice, chat.pk, [parsed("I found it.", is_user=True)])
    newer = make_memory(chat, "The key is found.")
    Memory.objects.for_owner(alice).filter(pk=memory.pk).update(superseded_by=newer, state="superseded")
    restore = restored(snapshot)
    assert restore.state == "succeeded"
    assert texts_of(chat) == ["The key is lost.", "Oh."]
    assert not Chat.objects.for_owner(alice).filter(pk=later.pk).exists()
    kept = Memory.objects.for_owner(alice).get()
    assert (kept.pk, kept.state, kept.superseded_by_id) == (memory.pk, "active", None)
    assert restore.safety is not None
    assert restored(restore.safety).state == "succeeded"
    assert texts_of(chat) == ["The key is lost.", "Oh.", "I found it."]
    assert Memory.objects.for_owner(alice).get(pk=memory.pk).superseded_by_id == newer.pk
    assert texts_of(later) == ["Another day."]


def test_a_chat_is_restored_and_the_others_stay() -> None:
    alice = UserFactory()
    character = make_character(alice)
    chat = make_chat(alice, "The key is lost.", "Oh.", "Where is it?", character=character)
    learnt = make_memory(chat, "The key is lost.")
    snapshot = made(alice, chat)
    known = Chat.objects.for_owner(alice).get(pk=chat.pk)
    other = make_chat(alice, "Another day.", character=character)
    make_memory(other, "It rained.")
    branch = branch_chat(alice, chat.pk, 1)
    patch_messages(alice, chat.pk, [Patch({"mes": "The key is here."}, index=0)], Guard(force=True))
    patch_messages(alice, chat.pk, [Patch(index=2, delete=True)], Guard(force=True))
    make_memory(chat, "The key is here.")
    rev = Chat.objects.for_owner(alice).get(pk=chat.pk).rev
    Character.objects.for_owner(alice).update(description="Grown up.")

    assert restored(snapshot).state == "succeeded"
    assert texts_of(chat) == ["The key is lost.", "Oh.", "Where is it?"]
    assert list(Memory.objects.for_owner(alice).filter(chat=chat).values_list("pk", flat=True)) == [learnt.pk]
    assert texts_of(other) == ["Another day."]
    assert Memory.objects.for_owner(alice).filter(chat=other).exists()
    assert texts_of(branch)[:2] == ["The key is lost.", "Oh."]
    assert Character.objects.for_owner(alice).get().description == "Grown up."
    now = Chat.objects.for_owner(alice).get(pk=chat.pk)
    assert now.rev > rev
    # A client that knows an earlier state reads the chat anew, and can't write over it by mistake.
    client = client_of(alice)
    for since in (known.rev, rev, str(known.integrity)):
        assert client.get(f"/api/v1/chats/{chat.pk}/changes/", {"since": since}).status_code == 410
    written = client.post(
        f"/api/v1/chats/{chat.pk}/append/",
        {"integrity": str(known.integrity), "messages": [{"name": "Alice", "is_user": True, "mes": "x"}]},
        format="json",
    )
    assert (written.status_code, written.json()["current_rev"]) == (409, now.rev)


def test_a_chat_that_was_deleted_for_good_comes_back_with_its_character() -> None:
    alice = UserFactory()
    chat = make_chat(alice, "The key is lost.", "Oh.", character=make_character(alice, "Mira"))
    memory = make_memory(chat, "The key is lost.")
    key = Entity.objects.create(owner_id=alice.pk, character=chat.character, name="Key")
    memory.entities.add(key)
    snapshot = made(alice, chat)
    delete_chat(chat)
    purge_chat(alice, chat.pk)
    Character.objects.for_owner(alice).all().delete()
    assert restored(snapshot).safety is None
    back = Chat.objects.for_owner(alice).get(pk=chat.pk)
    assert (texts_of(back), back.character and back.character.name) == (["The key is lost.", "Oh."], "Mira")
    assert list(Memory.objects.for_owner(alice).get().entities.all()) == [key]


def test_an_archive_of_another_account_gets_ids_of_its_own() -> None:
    alice, bob = UserFactory(), UserFactory()
    chat = make_chat(alice, "The key is lost.", "Oh.")
    make_memory(chat, "The key is lost.", witnessed_by=[chat.pk])
    snapshot = made(alice)
    Snapshot.objects.for_owner(alice).update(owner=bob)  # as if Bob had uploaded Alice's file
    snapshot = Snapshot.objects.for_owner(bob).get()
    assert restored(snapshot).state == "succeeded"
    copy = Chat.objects.for_owner(bob).get()
    assert (texts_of(copy), texts_of(chat)) == (["The key is lost.", "Oh."],) * 2
    assert copy.pk != chat.pk
    memory = Memory.objects.for_owner(bob).get()
    assert (memory.chat_id, memory.witnessed_by) == (copy.pk, [copy.pk])
    assert texts_of(chat) == ["The key is lost.", "Oh."]


def test_a_stored_snapshot_outlives_the_secret_that_signed_it(monkeypatch: pytest.MonkeyPatch) -> None:
    owner = UserFactory()
    chat = make_chat(owner, "One.")
    snapshot = made(owner, chat)
    Message.objects.for_owner(owner).filter(chat=chat).delete()
    monkeypatch.setattr(archives, "SIGNER", Signer(key="another-secret", salt="apps.snapshots"))
    assert restored(snapshot).state == "succeeded"
    assert texts_of(chat) == ["One."]


def test_settings_get_a_rev_of_their_own() -> None:
    alice = UserFactory()
    client = client_of(alice)
    url = "/api/v1/settings/"
    first = client.get(url).json()
    body = {"integrity": first["integrity"], "settings": {"volume": 1}}
    second = client.patch(url, body, format="json").json()
    client.patch(url, {"force": True, "settings": {"volume": 2}}, format="json")
    forced = Snapshot.objects.for_owner(alice).get()
    assert (forced.kind, forced.reason) == ("settings", "forced_write")
    assert restored(forced).state == "succeeded"
    now = client.get(url).json()
    assert (now["settings"], now["rev"]) == ({"volume": 1}, 3)
    stale = client.patch(url, {"integrity": second["integrity"], "settings": {"volume": 5}}, format="json")
    assert stale.status_code == 409
    assert SettingsDocument.objects.for_owner(alice).get().rev == 3


def test_passages_of_the_replaced_texts_are_gone() -> None:
    alice = UserFactory()
    chat = make_chat(alice, "The key is lost.")
    snapshot = made(alice, chat)
    message = chat.messages.get()
    Passage.objects.create(owner_id=alice.pk, chat=chat, message=message, message_rev=1, fingerprint="x")
    restored(snapshot)
    assert not Passage.objects.for_owner(alice).exists()
    assert client_of(alice).get(f"/api/v1/chats/{chat.pk}/").status_code == 200


def test_forced_writes_keep_ten_snapshots() -> None:
    alice = UserFactory()
    chat = make_chat(alice, "0")
    for number in range(1, 13):
        patch_messages(alice, chat.pk, [Patch({"mes": str(number)}, index=0)], Guard(force=True))
    snapshots = list(Snapshot.objects.for_owner(alice).order_by("pk"))
    assert [rows_of(snapshot, "chats.Swipe")[0]["mes"] for snapshot in snapshots] == [str(n) for n in range(2, 12)]
    field: Any = Snapshot._meta.get_field("file")
    assert len(field.storage.listdir("snapshots/")[1]) >= 10


def test_no_row_of_another_owner_is_referred_to() -> None:
    """An administrator's import trusts no reference: rows of an archive may name anybody's."""
    alice, bob = UserFactory(), UserFactory()
    theirs = make_chat(bob, "Secret.").messages.get()
    chat = make_chat(alice, "The key is lost.")
    memory = make_memory(chat, "The key is lost.")
    with connection.cursor() as cursor:
        cursor.execute("UPDATE memories_memory SET valid_from_id = %s WHERE id = %s", [theirs.pk, memory.pk])
    snapshot = made(alice)
    assert restored(snapshot).state == "succeeded"
    assert not Memory._base_manager.filter(owner=alice, valid_from=theirs).exists()
    assert UUID(str(chat.pk)) == Chat.objects.for_owner(alice).get().pk


@pytest.mark.parametrize(
    ("model", "change", "read"),
    [
        (MemorySettings, lambda owner: change_settings(owner, {"chunk": 12}), lambda owner: stored_settings(owner)),
        (
            SettingsDocument,
            lambda owner: patch_settings(owner, DocumentPatch(merge={"chunk": 12}), Guard(force=True)),
            lambda owner: read_settings(owner).values,
        ),
    ],
)
def test_settings_that_wait_for_a_restore_are_saved_after_it(
    model: Any, change: Callable[[User], Any], read: Callable[[User], Any]
) -> None:
    owner = UserFactory()
    model.objects.create(owner_id=owner.pk)
    replaced: list[bool] = []

    def replace() -> None:
        row = model.objects.for_owner(owner).get()
        row.delete()
        model.objects.create(owner_id=owner.pk)
        connection.close()

    def replace_after_the_first(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        result = execute(sql, *arguments)
        if model._meta.db_table in sql and not replaced:
            replaced.append(True)
            with ThreadPoolExecutor() as threads:
                threads.submit(replace).result()
        return result

    with connection.execute_wrapper(replace_after_the_first):
        change(owner)
    assert replaced
    assert read(owner) == {"chunk": 12}


def test_errors_of_runs_come_back_as_they_are_stored() -> None:
    owner = UserFactory()
    stored = gettext_stored("Its worker stopped %(times)s times at the same step.", times=5)
    old = "Its worker stopped 4 times at the same step."
    for error in (stored, old):
        ExtractionRun.objects.create(owner=owner, chat=make_chat(owner), state="failed", error=error)
    snapshot = made(owner)
    wipe(owner)
    assert restored(snapshot).state == "succeeded"
    with translation.override("de"):
        errors = set(ExtractionRun.objects.for_owner(owner).values_list("error", flat=True))
    assert errors == {"Der Prozess ist 5 Mal am selben Schritt stehen geblieben.", old}
