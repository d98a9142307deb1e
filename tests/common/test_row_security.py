"""The database itself keeps owners apart, also for statements that name no owner."""

from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager, suppress
from typing import Any
from uuid import uuid4

import pytest
from django.db import DatabaseError, ProgrammingError, connection, transaction
from django.test import Client

from apps.accounts.middleware.row_scope import _each_async
from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common.database.restriction import (
    OWNER_SETTING,
    RESTRICTED_ROLE,
    restrict,
    restricted_to,
    restriction,
    unrestricted,
)
from apps.common.scoping import system_scope
from apps.extraction.tasks import settle_chat
from config.celery import app
from tests.contract.conftest import client_of
from tests.contract.test_owner_scope import things_of_alice
from tests.coroutines import in_thread
from tests.factories import UserFactory, make_chat, make_memory


def counts(tables: list[str]) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(" UNION ALL ".join(f"SELECT '{table}', count(*) FROM {table}" for table in tables))
        return dict(cursor.fetchall())


def product_tables() -> list[str]:
    """Return the tables with an owner's rows, as the database says, and of links between such rows."""
    with connection.cursor() as cursor:
        cursor.execute("""
            SELECT table_name FROM information_schema.columns JOIN information_schema.tables USING (table_name)
            WHERE columns.table_schema = 'public' AND table_type = 'BASE TABLE' AND column_name = 'owner_id'
        """)
        return sorted({name for (name,) in cursor.fetchall()} | {"memories_memory_entities"})


@contextmanager
def observed(table: str) -> Iterator[list[tuple[str, str]]]:
    """Collect the role and the owner of each statement on a table."""
    seen: list[tuple[str, str]] = []

    def observe(execute: Any, sql: str, *args: Any) -> Any:
        if table in sql:
            query = f"SELECT current_user, current_setting('{OWNER_SETTING}', true)"
            seen.append(connection.connection.execute(query).fetchone())
        return execute(sql, *args)

    with connection.execute_wrapper(observe):
        yield seen


def test_without_a_user_no_table_shows_a_row_and_with_one_only_theirs(db: None) -> None:
    things_of_alice()
    alice, bob = User.objects.get(email="alice@example.com"), UserFactory()
    tables = product_tables()
    everything = counts(tables)
    assert len(tables) >= 60
    assert sum(1 for rows in everything.values() if rows) >= 35
    with restricted_to(None):
        assert sum(counts(tables).values()) == 0
        restrict(bob.pk)
        assert sum(counts(tables).values()) == 0
        with system_scope():
            assert counts(tables) == everything
        restrict(alice.pk)
        assert counts(tables) == everything


def test_who_has_a_trigger_word_is_told_of_ones_own_memories_alone(db: None) -> None:
    """The function reads the table with the rights of its owner, whose role sees all rows."""
    alice, bob = UserFactory(), UserFactory()
    memories = {
        user.pk: make_memory(make_chat(user, "A rope."), "A rope.", triggers=["rope", "tar"]) for user in (alice, bob)
    }
    make_memory(make_chat(alice, "A lamp."), "A lamp.", triggers=["lamp"])

    def recalled(user: User) -> set[Any]:
        with connection.cursor() as cursor:
            cursor.execute("SELECT memories_with_trigger(%s, %s::varchar[])", [user.pk, ["rope", "none"]])
            return {row for (row,) in cursor.fetchall()}

    for user in (alice, bob):
        assert recalled(user) == {memories[user.pk].pk}
        with restricted_to(alice.pk):
            assert recalled(user) == ({memories[alice.pk].pk} if user == alice else set())
        with restricted_to(None):
            assert recalled(user) == set()


def test_nobody_writes_for_another(db: None) -> None:
    alice, bob = UserFactory(), UserFactory()
    chat = make_chat(alice, "It is here.")
    with restricted_to(bob.pk), connection.cursor() as cursor:
        for statement in ("UPDATE chats_chat SET title = 'Mine'", "DELETE FROM chats_message"):
            cursor.execute(statement)
            assert cursor.rowcount == 0
        own = make_chat(bob, "It is there.")
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            cursor.execute("UPDATE chats_chat SET owner_id = %s", [alice.pk])
        with pytest.raises(ProgrammingError, match="row-level security"), transaction.atomic():
            Chat.objects.create(pk=uuid4(), owner=alice, title="Theirs")
    own.refresh_from_db()
    chat.refresh_from_db()
    assert (own.owner_id, chat.title) == (bob.pk, "The heist")


def test_what_is_seen_stays_right_when_transactions_fail(db: None) -> None:
    alice, bob = UserFactory(), UserFactory()
    for owner in (alice, bob):
        make_chat(owner, "It is here.")

    def number() -> int:
        return counts(["chats_chat"])["chats_chat"]

    with restricted_to(alice.pk):
        assert number() == 1
        with pytest.raises(DatabaseError), transaction.atomic(), unrestricted():
            counts(["chats_chat", "no_such_table"])
        assert number() == 1
        with unrestricted(), transaction.atomic():
            with pytest.raises(DatabaseError), transaction.atomic(), restricted_to(bob.pk):
                counts(["chats_chat", "no_such_table"])
            assert number() == 2
        assert number() == 1


@pytest.mark.django_db(transaction=True)
def test_what_is_seen_stays_right_when_a_failed_transaction_is_committed() -> None:
    alice, bob = UserFactory(), UserFactory()
    for owner in (alice, bob):
        make_chat(owner, "It is here.", title=owner.email)
    with restricted_to(alice.pk):
        assert titles() == [alice.email]
    with restricted_to(bob.pk):
        with transaction.atomic():
            assert titles() == [bob.email]
            with suppress(DatabaseError):
                counts(["no_such_table"])
        assert titles() == [bob.email]


def titles() -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT title FROM chats_chat")
        return [title for (title,) in cursor.fetchall()]


def test_requests_see_the_rows_of_their_user_and_the_admin_site_those_of_all(db: None) -> None:
    alice, staff = UserFactory(), User.objects.create_superuser("staff@example.com", "correct horse")
    make_chat(alice, "It is here.")
    browser = Client()
    browser.force_login(alice)
    for client, url in ((client_of(alice), "/api/v1/chats/"), (browser, "/api/v1/chats/"), (browser, "/")):
        with observed("chats_chat") as seen:
            assert client.get(url).status_code == 200
        assert set(seen) == {(RESTRICTED_ROLE, str(alice.pk))}
    office = Client()
    office.force_login(staff)
    with observed("chats_chat") as seen:
        assert "The heist" not in office.get("/").content.decode()
        assert set(seen) == {(RESTRICTED_ROLE, str(staff.pk))}
        seen.clear()
        assert office.get("/admin/chats/chat/").status_code == 200
    assert RESTRICTED_ROLE not in {role for role, _ in seen}
    assert len(Chat.objects.for_owner(alice)) == 1  # the test itself is not restricted


def test_tasks_see_the_rows_of_the_owner_whose_work_they_do(db: None) -> None:
    alice = UserFactory()
    chat = make_chat(alice, "It is here.")

    @app.task
    def count_chats() -> int:
        return counts(["chats_chat"])["chats_chat"]

    assert count_chats() == 0
    with observed("memories_") as seen:
        settle_chat(chat_id=str(chat.pk))
    assert set(seen) == {(RESTRICTED_ROLE, str(alice.pk))}


def test_a_stream_whose_client_goes_away_ends_under_the_restriction_of_its_request() -> None:
    owner = uuid4()
    seen: list[str | None] = []

    async def content() -> AsyncIterator[bytes]:
        try:
            yield b"part"
        finally:
            seen.append(restriction())

    async def read_one() -> None:
        with restricted_to(None):
            stream: Any = _each_async(content(), owner)
            await anext(stream)
            await stream.aclose()

    in_thread(read_one)
    assert seen == [str(owner)]
