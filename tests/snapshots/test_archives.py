"""An archive that is damaged, newer, or made by somebody else is refused, and says why; nothing is written."""

import io
import json
import zipfile
from collections.abc import Callable
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from hypothesis import given
from hypothesis import strategies as st
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common.problems import Problem
from apps.snapshots.archives import MANIFEST, SIGNATURE, SIGNER, Archive, DamagedArchive
from apps.snapshots.models import Snapshot
from apps.snapshots.storing import store_snapshot
from apps.snapshots.tables import SnapshotScope
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_chat, make_memory

Members = dict[str, bytes]
SWIPES = "tables/chats.Swipe.jsonl"


@pytest.fixture
def alice(db: None) -> User:
    return UserFactory()


@pytest.fixture
def content(alice: User) -> bytes:
    """An archive of an account with two chats."""
    chat = make_chat(alice, "The key is lost.", "Oh.")
    make_memory(chat, "The key is lost.")
    make_chat(alice, "Another day." * 1000)
    snapshot = store_snapshot(SnapshotScope("account", alice.pk), Snapshot.Reason.DAILY)
    with snapshot.file.open("rb") as file:
        data: bytes = file.read()
    Snapshot.objects.for_owner(alice).delete()
    return data


def members_of(content: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def zipped(members: Members) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name, data)
    return file.getvalue()


def with_manifest(members: Members, **changes: Any) -> Members:
    """Members with another manifest, signed as if this installation had made it."""
    text = json.dumps(json.loads(members[MANIFEST]) | changes)
    return members | {MANIFEST: text.encode(), SIGNATURE: SIGNER.signature(text).encode()}


def upload(client: APIClient, content: bytes) -> Any:
    return client.post(
        "/api/v1/snapshots/upload/", {"file": SimpleUploadedFile("mine.zip", content)}, format="multipart"
    )


def bigger(members: Members) -> Members:
    """A table that unpacks to more than its manifest says."""
    return members | {SWIPES: members[SWIPES] + b" " * 50_000_000 + b"\n"}


WRONG: dict[str, tuple[Callable[[Members], Members], str]] = {
    "newer": (lambda members: with_manifest(members, version=2), "version 2"),
    "another format": (lambda members: with_manifest(members, format="zip"), "not a snapshot of Loci"),
    "no manifest": (lambda members: {name: data for name, data in members.items() if name != MANIFEST}, "manifest"),
    "no list of files": (lambda members: with_manifest(members, files=7), "files"),
    "negative rows": (
        lambda members: with_manifest(members, files=[{"table": "a.b", "rows": -1, "bytes": 0, "sha256": "0" * 64}]),
        "files",
    ),
    "changed by hand": (
        lambda members: members | {MANIFEST: members[MANIFEST].replace(b'"account"', b'"account" ')},
        "another installation",
    ),
    "a row changed": (
        lambda members: members | {SWIPES: members[SWIPES].replace(b"lost", b"here")},
        "chats.Swipe don't have their checksum",
    ),
    "a row missing": (lambda members: members | {SWIPES: members[SWIPES].partition(b"\n")[2]}, "checksum"),
    "a bomb": (bigger, "more bytes than its manifest says"),
    "a path": (lambda members: members | {"../../etc/passwd": b"x"}, "other files"),
    "a manifest that names a path": (
        lambda members: with_manifest(
            members, files=[{"table": "../../etc/passwd", "rows": 0, "bytes": 0, "sha256": "0" * 64}]
        ),
        "files",
    ),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_named(alice: User, content: bytes, name: str) -> None:
    change, reason = WRONG[name]
    reply = upload(client_of(alice), zipped(change(members_of(content))))
    assert reply.status_code == 400, reply.content
    (error,) = reply.json()["errors"]
    assert error["pointer"] == "/file"
    assert reason in error["detail"]
    assert not Snapshot.objects.for_owner(alice).exists()


def test_an_archive_that_unpacks_to_too_much_is_refused(alice: User, content: bytes, settings: Any) -> None:
    settings.SNAPSHOT_MAX_BYTES = len(content)
    reply = upload(client_of(alice), content)
    assert (reply.status_code, "larger than" in reply.json()["detail"]) == (400, True)
    settings.SNAPSHOT_MAX_BYTES = 1000
    assert upload(client_of(alice), content).status_code == 413


def test_a_file_twice_in_an_archive_is_refused(alice: User, content: bytes) -> None:
    file = io.BytesIO(content)
    with zipfile.ZipFile(file, "a") as archive, pytest.warns(UserWarning, match="Duplicate"):
        archive.writestr(SWIPES, b"{}\n")
    assert upload(client_of(alice), file.getvalue()).status_code == 400


@pytest.fixture(scope="module")
def made_once(django_db_setup: None, django_db_blocker: Any) -> bytes:
    from django.db import transaction

    with django_db_blocker.unblock(), transaction.atomic():
        alice = UserFactory()
        make_chat(alice, "The key is lost.", "Oh.")
        with store_snapshot(SnapshotScope("account", alice.pk), Snapshot.Reason.DAILY).file.open("rb") as file:
            data: bytes = file.read()
        transaction.set_rollback(True)
    return data


@given(st.data())
def test_a_cut_or_changed_file_never_passes_and_never_crashes(made_once: bytes, data: st.DataObject) -> None:
    position = data.draw(st.integers(0, len(made_once) - 1))
    if data.draw(st.booleans()):
        broken = made_once[:position]
    else:
        flipped = made_once[position] ^ data.draw(st.integers(1, 255))
        broken = made_once[:position] + bytes([flipped]) + made_once[position + 1 :]
    try:
        archive = Archive(io.BytesIO(broken))
        archive.check()
    except DamagedArchive:
        return
    # A bit that no reader looks at, such as a time in the ZIP file's directory: the content is the same.
    whole = Archive(io.BytesIO(made_once))
    assert archive.manifest == whole.manifest


@given(st.binary(max_size=200))
def test_any_other_file_is_refused(content: bytes) -> None:
    with pytest.raises(Problem):
        Archive(io.BytesIO(content)).check()


def test_rows_that_do_not_fit_change_nothing(alice: User, content: bytes) -> None:
    """Only an administrator can import an archive that this installation didn't sign."""
    from hashlib import sha256

    from django.core.management import CommandError, call_command

    members = members_of(content)
    manifest = json.loads(members[MANIFEST])
    broken = {
        "no number": members[SWIPES].replace(b'"position":0', b'"position":"first"'),
        "no text": members[SWIPES].replace(b'"mes":"Oh."', b'"mes":null'),
        "no object": b"[]\n",
        "no JSON": b"{\n",
    }
    for name, rows in broken.items():
        entry = {
            "table": "chats.Swipe",
            "rows": rows.count(b"\n"),
            "bytes": len(rows),
            "sha256": sha256(rows).hexdigest(),
        }
        files = [entry if file["table"] == "chats.Swipe" else file for file in manifest["files"]]
        path = Snapshot._meta.get_field("file").storage.path("hostile.zip")  # type: ignore[union-attr]
        with open(path, "wb") as file:
            file.write(zipped(with_manifest(members | {SWIPES: rows}, files=files)))
        with pytest.raises(CommandError, match="damaged"):
            call_command("import_user", path, alice.email)
        assert Chat.objects.for_owner(alice).count() == 2, name
