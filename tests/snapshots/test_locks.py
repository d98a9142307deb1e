"""A chat is deleted for good while something else writes to the account: both end, one after the other."""

import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.db import connection, transaction

from apps.accounts.models import User
from apps.chats.locking import lock_chat
from apps.chats.models import Chat
from apps.chats.operations import purge_chat
from apps.memories.models import Memory
from tests.contract.conftest import client_of
from tests.database import WAITING
from tests.factories import UserFactory, make_chat, make_memory
from tests.instances.conftest import memory, push
from tests.snapshots.making import made, restored

pytestmark = pytest.mark.django_db(transaction=True)

PATIENCE = 60  # seconds


def wait_for_a_waiter() -> None:
    deadline = time.monotonic() + PATIENCE
    with connection.cursor() as cursor:
        while not cursor.execute(WAITING).fetchone()[0]:
            assert time.monotonic() < deadline
            time.sleep(0.02)


def purged_meanwhile(owner: User, chat: Chat, act: Callable[[], Any]) -> Any:
    """Return what an act returns that began after the chat was locked, and before it was deleted for good."""

    def in_thread() -> Any:
        try:
            return act()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            lock_chat(owner, chat.pk)
            running = threads.submit(in_thread)
            wait_for_a_waiter()
            purge_chat(owner, chat.pk)
        return running.result(PATIENCE)


def test_a_restore_of_the_account_waits_for_a_deletion(db: None) -> None:
    owner = UserFactory()
    chat = make_chat(owner, "Where is the key?")
    make_memory(chat, "The key is lost.")
    snapshot = made(owner)
    assert purged_meanwhile(owner, chat, lambda: restored(snapshot)).state == "succeeded"
    assert Memory.objects.for_owner(owner).get().text == "The key is lost."


def test_a_push_waits_for_a_deletion_of_the_chat_that_it_names(db: None) -> None:
    owner = UserFactory()
    client = client_of(owner)
    client.post("/api/v1/instances/", {"id": "desk"})
    chat = make_chat(owner, "Where is the key?")
    entry = memory("desk", {"desk": 1}, "The key is lost.", chat=str(chat.pk))
    reply = purged_meanwhile(owner, chat, lambda: push(client, "desk", memories=[entry]))
    assert reply["applied"] == 1
