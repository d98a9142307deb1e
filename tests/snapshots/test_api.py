"""Snapshots by the API, the pages and the commands."""

import io
import re
import time
from pathlib import Path
from typing import Any

import pytest
import time_machine
from django.core.files.uploadedfile import SimpleUploadedFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.models import Chat, Message
from apps.chats.operations import append_messages
from apps.common import jobs
from apps.common.database.restriction import restricted_to
from apps.snapshots import operations, tasks
from apps.snapshots.models import Restore, Snapshot
from apps.snapshots.moments import Moment
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_chat, make_memory, parsed
from tests.snapshots.making import made, restored, rows_of

pytestmark = pytest.mark.django_db(transaction=True)
URL = "/api/v1/snapshots/"
FIRST_VERSION = Path(__file__).parents[1] / "data" / "snapshots" / "version-1.zip"


@pytest.fixture
def alice() -> User:
    return UserFactory(email="alice@example.com")


@pytest.fixture
def chat(alice: User) -> Chat:
    return make_chat(alice, "The key is lost.", "Oh.")


def work() -> None:
    """What a worker of the queue does, until there is nothing to do."""
    while (
        Snapshot._base_manager.filter(state="queued").exists() or Restore._base_manager.filter(state="queued").exists()
    ):
        with restricted_to(None):  # as each task is
            jobs.run_next("indexing")


def test_the_life_of_a_snapshot(alice: User, chat: Chat) -> None:
    client = client_of(alice)
    assert client.get(URL).json()["results"] == []
    reply = client.post(URL, {"chat": str(chat.pk)}, format="json")
    assert (reply.status_code, reply.json()["state"], reply.json()["kind"]) == (201, "succeeded", "chat")
    url = f"{URL}{reply.json()['id']}/"
    done = client.get(url).json()
    assert done == reply.json()
    assert (done["state"], done["reason"], done["title"]) == ("succeeded", "manual", chat.title)
    assert done["counts"]["chats.Message"] == 2
    assert done["done"] == done["total"] == sum(done["counts"].values())
    assert [row["id"] for row in client.get(URL, {"chat": str(chat.pk)}).json()["results"]] == [done["id"]]
    file = client.get(f"{url}download/")
    assert (file.status_code, file["Content-Type"], "attachment" in file["Content-Disposition"]) == (
        200,
        "application/zip",
        True,
    )
    content = b"".join(file.streaming_content)
    assert len(content) == done["size"]

    assert client.get(f"{url}restore/").status_code == 404
    assert client.delete(url).status_code == 204
    assert client.get(url).status_code == 404
    upload = client.post(f"{URL}upload/", {"file": SimpleUploadedFile("x.zip", content)}, format="multipart")
    assert (upload.status_code, upload.json()["reason"], upload.json()["chat"]) == (201, "uploaded", str(chat.pk))
    assert upload.json()["taken_at"] == done["taken_at"] < upload.json()["created_at"]
    chat.messages.all().delete()
    url = f"{URL}{upload.json()['id']}/"
    assert client.post(f"{url}restore/").status_code == 202
    assert client.post(f"{url}restore/").status_code == 409
    assert client.delete(url).status_code == 409
    work()
    restore = client.get(f"{url}restore/").json()
    assert (restore["state"], restore["error"]) == ("succeeded", "")
    assert chat.messages.count() == 2
    assert client.get(f"{URL}{restore['safety']}/").json()["reason"] == "restore"
    field: Any = Snapshot._meta.get_field("file")
    assert client.delete(url).status_code == 204
    assert not any(upload.json()["id"] in name for name in field.storage.listdir("snapshots/")[1])


def test_a_snapshot_of_the_account_is_made_in_the_background(alice: User, chat: Chat) -> None:
    client = client_of(alice)
    reply = client.post(URL)
    assert (reply.status_code, reply.json()["state"], reply.json()["kind"]) == (202, "queued", "account")
    assert reply.json()["place"] == 1
    url = f"{URL}{reply.json()['id']}/"
    assert client.post(URL).json()["id"] == reply.json()["id"]
    assert client.get(f"{url}download/").status_code == 409
    assert client.post(f"{url}restore/").status_code == 409
    work()
    done = client.get(url).json()
    assert (done["state"], done["place"], done["done"]) == ("succeeded", None, done["total"])


@pytest.mark.parametrize("headers", [{}, {"HTTP_IDEMPOTENCY_KEY": "k1"}], ids=["without a key", "with a key"])
@pytest.mark.parametrize("is_of_chat", [True, False], ids=["chat", "account"])
def test_a_snapshot_holds_the_moment_at_which_it_was_asked_for(
    alice: User, is_of_chat: bool, headers: dict[str, str]
) -> None:
    chat = make_chat(alice, *(f"Message {number}." for number in range(5)))
    client = client_of(alice)
    asked = client.post(URL, {"chat": str(chat.pk)} if is_of_chat else {}, format="json", **headers).json()
    moment = timezone.now()
    first, second = (str(message.pk) for message in chat.messages.order_by("index")[:2])
    edits = [{"id": first, "delete": True}, {"id": second, "set": {"mes": "Another."}}]
    assert client.post(f"/api/v1/chats/{chat.pk}/patch/", {"force": True, "patches": edits}).status_code == 200
    work()
    snapshot = Snapshot.objects.for_owner(alice).get(pk=asked["id"])
    assert snapshot.state == "succeeded"
    assert len(rows_of(snapshot, "chats.Message")) == 5
    assert "Another." not in {row["mes"] for row in rows_of(snapshot, "chats.Swipe")}
    assert snapshot.taken_at < moment


def test_a_snapshot_whose_moment_is_lost_holds_and_names_a_later_one(alice: User, chat: Chat) -> None:
    asked = client_of(alice).post(URL).json()
    Snapshot.objects.for_owner(alice).update(moment="00000003-0000001B-1")
    append_messages(alice, chat.pk, [parsed("Another.")])
    later = timezone.now()
    work()
    snapshot = Snapshot.objects.for_owner(alice).get(pk=asked["id"])
    assert (snapshot.state, len(rows_of(snapshot, "chats.Message"))) == ("succeeded", 3)
    assert snapshot.taken_at > later


def test_a_moment_is_kept_until_its_snapshot_is_made(alice: User, chat: Chat) -> None:
    wait_until_no_moment_is_kept()  # by a test before this one
    client_of(alice).post(URL)
    assert kept_moments() == 1
    work()
    wait_until_no_moment_is_kept()


def wait_until_no_moment_is_kept() -> None:
    deadline = time.monotonic() + 60
    while kept_moments():
        assert time.monotonic() < deadline
        time.sleep(0.05)


@pytest.mark.parametrize("connection_pool", [1], indirect=True)
def test_the_moment_of_a_snapshot_takes_no_connection_of_the_pool(connection_pool: None) -> None:
    moment = Moment.now()
    assert moment is not None
    assert moment.name
    moment.release()


def kept_moments() -> int:
    with connection.cursor() as cursor:
        cursor.execute(
            """SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()
            AND state = 'idle in transaction' AND query LIKE '%pg_export_snapshot%'"""
        )
        return int(cursor.fetchone()[0])


def test_a_snapshot_asked_for_is_made_beside_a_daily_one(alice: User, chat: Chat, settings: Any) -> None:
    tasks.make_daily_snapshots()
    client_of(alice).post(URL)
    work()
    assert {snapshot.reason for snapshot in Snapshot.objects.for_owner(alice)} == {"daily", "manual"}


def test_no_snapshot_of_a_chat_that_somebody_asked_for_is_deleted_by_itself(alice: User, chat: Chat) -> None:
    for _ in range(12):
        client_of(alice).post(URL, {"chat": str(chat.pk)}, format="json")
    assert Snapshot.objects.for_owner(alice).filter(state="succeeded").count() == 12


@pytest.mark.parametrize("body", [{"chat": "x"}, {"chat": 7}, {"chats": None}, []])
def test_a_bad_request_is_a_400(alice: User, body: Any) -> None:
    assert client_of(alice).post(URL, body, format="json").status_code == 400
    assert client_of(alice).get(URL, {"chat": "x"}).status_code == 400


def test_a_chat_of_somebody_else_is_no_chat(alice: User, chat: Chat) -> None:
    reply = client_of(UserFactory()).post(URL, {"chat": str(chat.pk)}, format="json")
    assert (reply.status_code, reply.json()["errors"][0]["pointer"]) == (400, "/chat")


def test_a_lost_file_is_said(alice: User, chat: Chat) -> None:
    snapshot = made(alice)
    snapshot.file.storage.delete(snapshot.file.name)
    assert client_of(alice).get(f"{URL}{snapshot.pk}/download/").status_code == 404
    assert (restored(snapshot).state, chat.messages.count()) == ("failed", 2)


def test_snapshots_made_by_hand_are_limited(alice: User, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(operations, "MAX_SNAPSHOTS", 1)
    made(alice)
    reply = client_of(alice).post(URL, {}, format="json")
    assert (reply.status_code, "Delete one" in reply.json()["detail"]) == (409, True)


def test_a_restore_that_lost_its_worker_is_not_repeated(alice: User, chat: Chat, settings: Any) -> None:
    restore = operations.create_restore(made(alice))
    jobs.claim(Restore, restore.pk)
    with time_machine.travel(timezone.now() + timezone.timedelta(minutes=5)):
        tasks.sweep_snapshots()
    restore.refresh_from_db()
    assert (restore.state, restore.error) == ("failed", tasks.INTERRUPTED)


def test_accounts_that_changed_get_a_daily_snapshot(alice: User, chat: Chat, settings: Any) -> None:
    settings.SNAPSHOTS_DAILY = 2
    idle = UserFactory()
    for day in range(4):
        with time_machine.travel(timezone.now() + timezone.timedelta(days=day), tick=True):
            if day < 3:
                make_memory(chat, f"Day {day}.")
            tasks.make_daily_snapshots()
            work()
    found = Snapshot.objects.for_owner(alice).filter(reason="daily").order_by("pk")
    assert [snapshot.counts["memories.Memory"] for snapshot in found] == [2, 3]
    assert not Snapshot.objects.for_owner(idle).exists()


def test_a_user_moves_with_a_file(alice: User, chat: Chat, tmp_path: Path) -> None:
    make_memory(chat, "The key is lost.")
    file = tmp_path / "alice.zip"
    out = io.StringIO()
    call_command("export_user", "Alice@example.com", str(file), stdout=out)
    assert re.fullmatch(r"\d+ rows, \d+ bytes.\n", out.getvalue())
    with pytest.raises(CommandError, match="exists already"):
        call_command("export_user", "alice@example.com", str(file))
    bob = UserFactory()
    make_chat(bob, "His own.")
    call_command("import_user", str(file), bob.email, stdout=out)
    assert Chat.objects.for_owner(bob).get().title == chat.title
    assert Snapshot.objects.for_owner(bob).get().reason == "restore"
    for arguments in (
        ["nobody@example.com", str(tmp_path / "x.zip")],
        ["alice@example.com", str(tmp_path / "no" / "x")],
    ):
        with pytest.raises(CommandError):
            call_command("export_user", *arguments)
    for arguments in ([str(file), "nobody@example.com"], [str(tmp_path / "missing"), bob.email], [__file__, bob.email]):
        with pytest.raises(CommandError):
            call_command("import_user", *arguments)


def test_an_archive_of_the_first_version_is_restored(alice: User) -> None:
    call_command("import_user", str(FIRST_VERSION), alice.email, stdout=io.StringIO())
    chat = Chat.objects.for_owner(alice).get(title="Hers")
    assert [message.mes for message in Message.objects.for_owner(alice).filter(chat=chat)] == ["Where is the key?"]
    client = client_of(alice)
    memories = client.get("/api/v1/memories/", {"chat": str(chat.pk)}).json()["results"]
    assert "The key is hidden." in [memory["text"] for memory in memories]
    assert client.get("/api/v1/journal/").json()["results"][0]["text"] == "- A key was lost."
    assert client.get(f"/api/v1/characters/{chat.character_id}/image/").status_code == 200


def test_the_pages(alice: User, chat: Chat) -> None:
    client = Client()
    client.force_login(alice)
    url = "/settings/snapshots/"
    assert "There are no snapshots yet." in client.get(url).content.decode()
    of_chat = f"{url}?chat={chat.pk}"
    assert client.post(of_chat)["Location"] == of_chat
    snapshot = Snapshot.objects.for_owner(alice).get()
    html = client.get(of_chat).content.decode()
    assert f"{url}{snapshot.pk}/download/" in html
    assert 'hx-trigger="load' not in html
    assert client.post(url)["Location"] == url
    html = client.get(url, headers={"HX-Request": "true"}).content.decode()
    assert 'hx-trigger="load' in html
    assert "It is next in the queue." in html
    work()
    asked = client.get(f"{url}{snapshot.pk}/restore/").content.decode()
    assert "It holds 1 chat, 2 messages." in asked
    content = b"".join(client.get(f"{url}{snapshot.pk}/download/").streaming_content)
    chat.messages.all().delete()
    assert client.post(f"{url}{snapshot.pk}/restore/")["Location"] == url
    work()
    assert chat.messages.count() == 2
    assert "bring it back" in client.get(url).content.decode()
    reply = client.post(f"{url}upload/", {"file": SimpleUploadedFile("x.zip", content)})
    assert re.fullmatch(rf"{url}[0-9a-f-]+/restore/", reply["Location"])
    reply = client.post(f"{url}upload/", {"file": SimpleUploadedFile("x.zip", b"no")}, follow=True)
    assert "x.zip was not stored." in reply.content.decode()
    assert "No file was received." in client.post(f"{url}upload/", follow=True).content.decode()
    assert client.post(f"{url}{snapshot.pk}/delete/")["Location"] == url
    assert not Snapshot.objects.for_owner(alice).filter(pk=snapshot.pk).exists()
    for missing in (f"{url}?chat=x", f"{url}?chat={alice.pk}", f"{url}{snapshot.pk}/download/"):
        assert client.get(missing).status_code == 404
