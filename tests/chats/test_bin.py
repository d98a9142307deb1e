"""Chats in the bin: what is restored in time stays, and what is purged leaves no copy of its text."""

import datetime as dt
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core.files.storage import default_storage
from django.db import connection
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.models import Chat
from apps.chats.operations import Patch, delete_chat, patch_messages, patch_metadata, purge_old_chats, restore_chat
from apps.common.documents.patches import DocumentPatch
from apps.snapshots.models import Snapshot
from tests.factories import UserFactory, make_chat

FORCE = Guard(force=True)
LATER = dt.timedelta(days=31)


def tables_with(text: str) -> set[str]:
    """The tables of the database that hold a text in any column."""
    tables = connection.introspection.table_names()
    with connection.cursor() as cursor:
        quoted = [(table, connection.ops.quote_name(table)) for table in tables]
        holds = "SELECT EXISTS (SELECT FROM {} AS found WHERE found::text LIKE %s)"
        return {table for table, name in quoted if cursor.execute(holds.format(name), [f"%{text}%"]).fetchone()[0]}


def test_when_the_bin_is_emptied_no_copy_of_a_text_is_left(db: None, django_capture_on_commit_callbacks: Any) -> None:
    alice = UserFactory()
    chat, other = make_chat(alice, "The elderberry key.", "Where?"), make_chat(alice, "Something else.")
    patch_messages(alice, chat.pk, [Patch({"mes": "The elderberry door."}, index=0)], FORCE)
    patch_metadata(alice, chat.pk, DocumentPatch(merge={"note": "elderberry"}), FORCE)
    patch_messages(alice, chat.pk, [Patch(index=0, delete=True)], FORCE)
    assert {"chats_chat", "chats_chatchange"} <= tables_with("elderberry")
    files = list(Snapshot.objects.for_owner(alice).values_list("file", flat=True))
    assert len(files) == 3
    delete_chat(Chat.objects.for_owner(alice).get(pk=chat.pk))
    assert "chats_chatchange" in tables_with("elderberry")
    with django_capture_on_commit_callbacks(execute=True):
        assert purge_old_chats(timezone.now() + LATER) == 1
    assert tables_with("elderberry") == set()
    assert not Snapshot.objects.for_owner(alice).exists()
    assert not any(default_storage.exists(name) for name in files)  # compressed copies, made before forced writes
    assert "chats_swipe" in tables_with("Something else.")
    assert other.messages.exists()


@pytest.mark.parametrize("deleted_again", [False, True])
def test_a_chat_that_is_restored_while_the_bin_is_emptied_stays(transactional_db: None, deleted_again: bool) -> None:
    alice: User = UserFactory()
    chat = make_chat(alice, "Where is the key?")
    delete_chat(chat)
    Chat.in_bin.for_owner(alice).update(deleted_at=timezone.now() - LATER)

    def restore() -> None:
        restore_chat(alice, chat.pk)
        if deleted_again:
            delete_chat(chat)
        connection.close()

    statements: list[str] = []

    def restore_after_the_first(execute: Callable[..., Any], sql: str, *arguments: Any) -> Any:
        statements.append(sql)
        result = execute(sql, *arguments)
        if len(statements) == 1:
            with ThreadPoolExecutor() as threads:
                threads.submit(restore).result()
        return result

    with connection.execute_wrapper(restore_after_the_first):
        assert purge_old_chats(timezone.now()) == 0
    assert (Chat.in_bin if deleted_again else Chat.objects).for_owner(alice).get().messages.count() == 1
