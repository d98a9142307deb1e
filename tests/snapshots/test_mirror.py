"""The mirror: files of each chat that has settled, in a folder."""

import datetime as dt
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from django.core.files.storage import storages
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import append_messages, delete_chat, purge_chat
from apps.exchange.chats.exports import export_jsonl
from apps.memories.operations.arcs import create_arc
from apps.memories.operations.entities import edit_entity
from apps.memories.operations.knowledge import create_knowledge
from apps.memories.operations.layer_entries import edit_entry
from apps.memories.operations.texts import edit_text
from apps.snapshots import tasks
from apps.snapshots.mirror import mirror_settled_chats
from config.env import mirror_storage
from tests.factories import UserFactory, make_chat, make_memory, parsed

LATER = dt.timedelta(minutes=2)


@pytest.fixture
def folder(tmp_path: Path, settings: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("MIRROR_FOLDER", str(tmp_path))
    settings.STORAGES = {**settings.STORAGES, "mirror": mirror_storage()}
    return tmp_path


@pytest.fixture
def chat(db: None) -> Chat:
    owner: User = UserFactory()
    return make_chat(owner, "The key is lost.", "Oh.")


def files_in(folder: Path) -> dict[str, str]:
    return {path.suffix: path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_a_chat_is_written_once_it_has_settled_and_again_when_it_changes(chat: Chat, folder: Path) -> None:
    now = timezone.now()
    assert mirror_settled_chats(now) == 0
    assert files_in(folder) == {}
    make_memory(chat, "The key is lost.")
    assert mirror_settled_chats(now + LATER) == 1
    found = files_in(folder)
    assert found[".jsonl"] == b"".join(export_jsonl(chat)).decode()
    assert "The key is lost." in found[".md"]
    assert mirror_settled_chats(now + LATER) == 0
    append_messages(chat.owner_id, chat.pk, [parsed("Here it is.", is_user=True)])
    assert mirror_settled_chats(timezone.now() + LATER) == 1
    assert "Here it is." in files_in(folder)[".jsonl"]
    make_memory(chat, "The key is found.")
    assert mirror_settled_chats(timezone.now() + LATER) == 1
    assert "The key is found." in files_in(folder)[".md"]
    assert {path.parent.name for path in folder.rglob("*.md")} == {str(chat.owner_id)}


def test_a_chat_deleted_for_good_leaves_the_mirror_as_soon_as_that_can_be_reached(chat: Chat, folder: Path) -> None:
    mirror_settled_chats(timezone.now() + LATER)
    delete_chat(chat)
    assert len(files_in(folder)) == 2
    file = folder / str(chat.owner_id) / f"{chat.pk}.jsonl"
    file.unlink()
    (file / "in the way").mkdir(parents=True)  # so that it can't be deleted
    purge_chat(chat.owner_id, chat.pk)
    tasks.mirror_chats()
    assert [path.name for path in file.parent.iterdir()] == [file.name]
    (file / "in the way").rmdir()
    tasks.mirror_chats()
    tasks.mirror_chats()
    assert list(file.parent.iterdir()) == []


def test_a_chat_that_can_not_be_written_does_not_keep_others_out(
    chat: Chat, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    other = make_chat(chat.owner_id, "Another day.")
    (folder / str(chat.owner_id) / f"{chat.pk}.jsonl").mkdir(parents=True)  # a folder is where the file belongs
    assert mirror_settled_chats(timezone.now() + LATER) == 1
    assert (folder / str(chat.owner_id) / f"{other.pk}.jsonl").is_file()
    (folder / str(chat.owner_id) / f"{chat.pk}.jsonl").rmdir()
    assert mirror_settled_chats(timezone.now() + LATER) == 1


def test_without_a_mirror_nothing_is_written(chat: Chat, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "mirror" not in storages.backends
    assert mirror_settled_chats(timezone.now() + LATER) == 0
    tasks.mirror_chats()
    monkeypatch.setenv("MIRROR_BUCKET", "stories")
    monkeypatch.setenv("MIRROR_ENDPOINT", "http://127.0.0.1:9000")
    storage = mirror_storage()
    assert storage is not None
    assert (storage["BACKEND"], storage["OPTIONS"]["bucket_name"]) == ("storages.backends.s3.S3Storage", "stories")


def test_corrections_of_all_that_is_told_are_written(chat: Chat, folder: Path) -> None:
    arc = create_arc(chat, "Who has the key?", editor="me")
    knowledge = create_knowledge(chat, "knows", "Tom", "Where the key is.", editor="me")
    mirror_settled_chats(timezone.now() + LATER)
    changes: list[tuple[Callable[[], Any], str]] = [
        (lambda: edit_entry(arc, editor="me", text="Who had the key?"), "Who had the key?"),
        (lambda: edit_entry(knowledge, editor="me", text="Where the lock is."), "Where the lock is."),
        (lambda: edit_entity(knowledge.subject, name="Thomas"), "Thomas"),
        (lambda: edit_text(chat, "summary", editor="me", text="They found it."), "They found it."),
    ]
    for change, told in changes:
        assert told not in files_in(folder)[".md"]
        change()
        assert mirror_settled_chats(timezone.now() + LATER) == 1
        assert told in files_in(folder)[".md"]
        assert mirror_settled_chats(timezone.now() + LATER) == 0
