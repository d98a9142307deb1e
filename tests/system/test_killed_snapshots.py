"""A restore whose worker is killed half-way leaves everything as it was."""

import subprocess
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any

import pytest
from django.db import connection

from apps.chats.models import Chat, Message
from apps.chats.operations import append_messages
from apps.snapshots import tasks
from apps.snapshots.models import Restore, Snapshot
from tests.factories import UserFactory, make_chat, parsed
from tests.snapshots.making import made
from tests.system.processes import kill_hard

MESSAGES = 30


@pytest.mark.worker
def test_a_restore_that_is_killed_half_way_changes_nothing(
    start_celery_worker: Callable[..., subprocess.Popen[bytes]], settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    alice = UserFactory()
    chat = make_chat(alice, *(f"Message {number}." for number in range(MESSAGES)))
    snapshot = made(alice)
    append_messages(alice, chat.pk, [parsed("A later one.", is_user=True)])
    # The restore waits for this lock, with rows deleted and inserted, until it is killed.
    settings.RUN_HEARTBEAT_TIMEOUT = 2
    monkeypatch.setenv("RUN_HEARTBEAT_TIMEOUT", "2")
    elsewhere = connection.copy()
    with closing(elsewhere), elsewhere.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("LOCK TABLE proxy_proxiedchat IN SHARE MODE")
        restore = tasks.request_restore(snapshot)
        worker = start_celery_worker("indexing")
        deadline = time.monotonic() + 60
        while not _waits(cursor):
            assert time.monotonic() < deadline, "the restore does not come to the lock"
            time.sleep(0.05)
        kill_hard(worker)
        cursor.execute("COMMIT")
    deadline = time.monotonic() + 60
    while Restore.objects.for_owner(alice).get().state != "failed":
        assert time.monotonic() < deadline
        tasks.sweep_snapshots()
        time.sleep(0.2)
    assert Restore.objects.for_owner(alice).get(pk=restore.pk).error == tasks.INTERRUPTED
    assert Message.objects.for_owner(alice).filter(chat=chat).count() == MESSAGES + 1
    assert Chat.objects.for_owner(alice).get().message_count == MESSAGES + 1
    assert Snapshot.objects.for_owner(alice).count() == 1
    # Once more, and nobody in the way.
    tasks.request_restore(snapshot)
    start_celery_worker("indexing")
    deadline = time.monotonic() + 60
    while Message.objects.for_owner(alice).filter(chat=chat).count() > MESSAGES:
        assert time.monotonic() < deadline
        time.sleep(0.1)
    assert Restore.objects.for_owner(alice).latest("pk").state == "succeeded"


def _waits(cursor: Any) -> bool:
    cursor.execute(
        "SELECT count(*) FROM pg_locks WHERE NOT granted AND relation = 'proxy_proxiedchat'::regclass AND database = "
        "(SELECT oid FROM pg_database WHERE datname = current_database())"
    )
    return bool(cursor.fetchone()[0])
