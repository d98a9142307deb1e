"""``manage.py check_integrity`` finds what breaks a promise, and repairs it."""

import datetime as dt
import os
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from django.core.files.base import ContentFile
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone

from apps.chats.locking import Guard, IntegrityConflict
from apps.chats.models import Chat, ImportJob, Message
from apps.chats.operations import append_messages
from apps.common.jobs import Job
from apps.extraction.models import EmbeddingJob
from apps.memories.models import Memory
from apps.snapshots.mirror import mirror_settled_chats
from apps.snapshots.models import MirrorDeletion
from apps.snapshots.storing import store_snapshot
from apps.snapshots.tables import SnapshotScope
from config.env import mirror_storage
from tests.factories import UserFactory, make_chat, make_memory, parsed

pytestmark = pytest.mark.django_db


def execute(sql: str, *values: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute(sql, values)


def report(capsys: Any, **options: Any) -> dict[str, str]:
    """The state of each promise."""
    try:
        call_command("check_integrity", **options)
    except CommandError as error:
        assert "broken" in str(error)  # noqa: PT017
    lines = [line for line in capsys.readouterr().out.splitlines() if not line.startswith(" ")]
    return {line[10:].partition(".")[0]: line[:8].strip() for line in lines}


def test_what_is_broken_is_found_and_repaired(capsys: Any, settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    owner = UserFactory()
    chat = make_chat(owner, "One.", "Two.", "Three.", "Four.")
    second, third = Message.objects.for_owner(owner).filter(index__in=(1, 2)).order_by("index")
    execute("DELETE FROM chats_swipe WHERE message_id = %s", second.pk)
    execute("DELETE FROM chats_message WHERE id = %s", second.pk)
    execute("UPDATE chats_message SET swipe_id = 7 WHERE id = %s", third.pk)
    execute("UPDATE chats_swipe SET position = 3 WHERE message_id = %s", third.pk)
    lost = ImportJob.objects.create(owner_id=owner.pk, filename="a", file=ContentFile(b"x", "a.jsonl"))
    Path(lost.file.path).unlink()
    orphan = tmp_path / "imports" / "orphan.jsonl"
    orphan.write_text("x")
    os.utime(orphan, (0, 0))

    broken = {promise for promise, state in report(capsys).items() if state == "BROKEN"}
    assert broken == {
        "Messages of a chat are numbered without gaps",
        "A chat knows the number of its messages",
        "Swipes of a message are numbered without gaps",
        "The active swipe of a message exists",
        "Files of imports belong to an import",
        "Imports that have not ended have their file",
    }
    assert set(report(capsys, repair=True).values()) == {"ok", "repaired"}
    assert set(report(capsys).values()) == {"ok"}

    messages = list(Message.objects.for_owner(owner).filter(chat=chat).with_swipes().order_by("index"))
    assert [(row.index, row.mes) for row in messages] == [(0, "One."), (1, "Three."), (2, "Four.")]
    assert not orphan.exists()
    lost.refresh_from_db()
    assert lost.state == Job.State.FAILED
    with pytest.raises(IntegrityConflict):  # a client that knows the chat as it was reads it again
        append_messages(owner, chat.pk, [parsed("Five.")], Guard(chat.integrity))


def test_snapshots_and_their_files_name_each_other(capsys: Any, settings: Any, tmp_path: Path) -> None:
    settings.MEDIA_ROOT = tmp_path
    chat = make_chat(UserFactory(), "One.")
    kept, lost = (
        store_snapshot(SnapshotScope("chat", chat.owner_id, chat.pk), reason) for reason in ("manual", "daily")
    )
    lost_file = Path(lost.file.path).rename(tmp_path / "elsewhere")
    strays = [tmp_path / "snapshots" / name for name in ("old.zip", "new.zip")]
    for stray in strays:
        stray.write_text("x")
    os.utime(strays[0], (0, 0))

    missing, stray_files = "Snapshots have their file", "Files of snapshots belong to a snapshot"
    found = report(capsys)
    assert (found[missing], found[stray_files]) == ("BROKEN", "BROKEN")
    found = report(capsys, repair=True)
    assert (found[missing], found[stray_files]) == ("BROKEN", "repaired"), "the folder may not be mounted"
    assert [stray.exists() for stray in strays] == [False, True]
    assert Path(kept.file.path).exists()
    lost_file.rename(lost.file.path)
    assert set(report(capsys).values()) == {"ok"}


def test_the_mirror_has_what_its_rows_say_and_nothing_else(
    capsys: Any, settings: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MIRROR_FOLDER", str(tmp_path / "mirror"))
    settings.STORAGES = {**settings.STORAGES, "mirror": mirror_storage()}
    assert set(report(capsys).values()) == {"ok"}
    chat = make_chat(UserFactory(), "One.")
    mirror_settled_chats(timezone.now() + dt.timedelta(hours=1))
    folder = tmp_path / "mirror" / str(chat.owner_id)
    stray = folder / f"{uuid4()}.md"
    due = folder / f"{uuid4()}.md"
    for path in (stray, due, folder / "notes.txt"):
        path.write_text("x")
    MirrorDeletion.objects.create(name=f"{chat.owner_id}/{due.name}")
    (folder / f"{chat.pk}.md").unlink()

    present, belong = "What the mirror has by its rows is there", "Files of the mirror belong to a chat"
    found = report(capsys, repair=True)
    assert (found[present], found[belong]) == ("repaired", "BROKEN")
    assert stray.exists(), "it may be the only copy"
    mirror_settled_chats(timezone.now() + dt.timedelta(hours=1))
    assert (folder / f"{chat.pk}.md").exists()
    stray.unlink()
    assert set(report(capsys).values()) == {"ok"}


def test_links_to_other_owners_are_reported_and_left(capsys: Any) -> None:
    chat, other = make_chat(UserFactory(), "One."), make_chat(UserFactory())
    memory = make_memory(chat, "The key is blue.")
    Memory.objects.for_owner(memory.owner_id).update(chat=other)
    assert report(capsys, repair=True)["Links lead to rows of the same owner"] == "BROKEN"
    Memory.objects.for_owner(memory.owner_id).update(chat=chat)
    assert report(capsys)["Links lead to rows of the same owner"] == "ok"


def test_what_has_no_vector_gets_one(capsys: Any) -> None:
    memory = make_memory(make_chat(UserFactory(), "One."), "The key is blue.")
    promise = "What is searched has vectors of the current model"
    assert report(capsys)[promise] == "BROKEN"
    assert report(capsys, repair=True)[promise] == "repaired"
    assert EmbeddingJob.objects.for_owner(memory.owner_id).active().exists()


def test_a_chat_without_messages_is_whole(capsys: Any) -> None:
    make_chat(UserFactory())
    assert set(report(capsys).values()) == {"ok"}
    assert Chat._base_manager.count() == 1
