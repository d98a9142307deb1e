"""Compiled queries: the rows are those of the queryset, for the keys of each call."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import django
import pytest
from django.db import NotSupportedError, connection, connections, transaction
from django.test.utils import CaptureQueriesContext

from apps.accounts.models import User
from apps.chats.locking import LOCKED_CHAT
from apps.chats.models import Chat
from apps.chats.operations import create_chat
from apps.common.database import compiled_queries
from apps.common.database.compiled_queries import CompiledQuery, prepared_cursor
from apps.common.database.errors import is_rolled_back
from tests.contract.conftest import client_of


def titles(keys: "Keys", title: Any) -> Any:
    rows = Chat.objects.for_owner(keys.owner).filter(parent=keys.parent)
    return (rows if title is None else rows.filter(title=title)).values_list("title", flat=True)


pytestmark = pytest.mark.django_db

BY_ID = CompiledQuery(lambda owner, chat: Chat.objects.for_owner(owner).filter(pk=chat).select_related("owner"))
TITLES: CompiledQuery[Any] = CompiledQuery(titles)
NOT_THE_TITLE = "not the title"
TITLES_BY_ID: CompiledQuery[Any] = CompiledQuery(
    lambda owner, chat: (
        Chat.objects.for_owner(owner).filter(pk=chat).exclude(title=NOT_THE_TITLE).values_list("title", flat=True)
    )
)
CONSTANTS = ("100 % sure, %s or %%s", 'it\'s \\ "quoted"', "{braces} %(name)s", "🌊")
OF_CONSTANTS: list[CompiledQuery[Any]] = [
    CompiledQuery(lambda owner, title=title: Chat.objects.for_owner(owner).filter(title__contains=title))
    for title in CONSTANTS
]
BY_TITLE = CompiledQuery(
    lambda owner, titles: Chat.objects.for_owner(owner).filter(title__any=titles, is_group=False).order_by("title")
)


@pytest.fixture
def alice() -> User:
    return User.objects.create_user("alice@example.com")


@pytest.fixture
def bob() -> User:
    return User.objects.create_user("bob@example.com")


def test_the_version_of_django_is_the_one_that_compiled_queries_were_read_against() -> None:
    version = "Django {}.{}".format(*django.VERSION)
    assert f"Read against {version}," in str(compiled_queries.__doc__), (
        f"This is {version}. Check in its QuerySet._clone, Query.get_compiler, SQLCompiler.execute_sql and as_sql that "
        "a queryset still compiles its query at each evaluation, that a compiler keeps after as_sql all that rows are "
        "made of, that only as_sql refuses select_for_update without a transaction, and that _with_query copies what "
        "_clone does; then write the version into the docstring of compiled_queries.py."
    )


def test_rows_are_those_of_the_queryset(alice: User):
    chat = create_chat(alice, title="One", metadata={"b": [1], "a": None})
    found = BY_ID.first(alice.pk, chat.pk)
    stored = Chat.objects.for_owner(alice).get(pk=chat.pk)
    assert found is not None
    assert {name: value for name, value in vars(found).items() if name != "_state"} == {
        name: value for name, value in vars(stored).items() if name != "_state"
    }
    assert list(found.metadata) == ["b", "a"]


def test_related_rows_need_no_further_query(alice: User, django_assert_num_queries):
    chat = create_chat(alice, title="One")
    with django_assert_num_queries(1):
        found = BY_ID.first(alice.pk, chat.pk)
        assert found is not None
        assert found.owner.email == alice.email


def test_each_call_has_its_own_keys(alice: User, bob: User):
    first, second = create_chat(alice, title="One"), create_chat(bob, title="Two")
    rows = [BY_ID.rows(alice.pk, first.pk), BY_ID.rows(bob.pk, second.pk), BY_ID.rows(bob.pk, first.pk)]
    assert [[chat.title for chat in found] for found in rows] == [["One"], ["Two"], []]
    assert BY_ID.first(alice.pk, second.pk) is None


def test_a_key_may_be_a_list(alice: User):
    for title in ("One", "Two", "Three"):
        create_chat(alice, title=title)
    assert [chat.title for chat in BY_TITLE.rows(alice.pk, ["Two", "One", "None"])] == ["One", "Two"]
    assert list(BY_TITLE.rows(alice.pk, [])) == []


@pytest.mark.django_db(transaction=True)
def test_threads_use_their_own_connections(alice: User):
    chats = [create_chat(alice, title=str(number)) for number in range(20)]

    def title_of(chat: Chat) -> str:
        try:
            found = BY_ID.first(alice.pk, chat.pk)
            return found.title if found else ""
        finally:
            connections.close_all()

    with ThreadPoolExecutor(4) as pool:
        assert list(pool.map(title_of, chats)) == [chat.title for chat in chats]


class Keys(NamedTuple):
    owner: Any
    parent: Any


def test_keys_may_be_none_or_stand_in_a_named_tuple(alice: User):
    chat = create_chat(alice, title="One")
    branch = create_chat(alice, title="Two")
    Chat.objects.for_owner(alice).filter(pk=branch.pk).update(parent=chat)
    assert list(TITLES.rows(Keys(alice.pk, None), "Two")) == []
    assert list(TITLES.rows(Keys(alice.pk, chat.pk), "Two")) == ["Two"]
    assert list(TITLES.rows(Keys(alice.pk, None), "One")) == ["One"]
    assert list(TITLES.rows(Keys(alice.pk, branch.pk), None)) == []
    assert list(TITLES.rows(Keys(alice.pk, chat.pk), None)) == ["Two"]


def test_the_statement_of_keys_has_them_as_parameters(alice: User):
    create_chat(alice, title="One")
    sql, parameters = TITLES.sql(Keys(alice.pk, None), "One")
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters)
        assert cursor.fetchall() == [("One",)]


def test_the_server_plans_a_query_once_for_all_keys(alice: User, bob: User):
    chats = [create_chat(owner, title="One") for owner in (alice, bob)]
    with prepared_cursor() as cursor:
        cursor.execute("DEALLOCATE ALL")
        for chat in chats * 4:
            assert TITLES_BY_ID.first(chat.owner_id, chat.pk) == "One"
        cursor.execute(
            "SELECT generic_plans, custom_plans FROM pg_prepared_statements WHERE statement LIKE %s",
            [f"%{NOT_THE_TITLE}%"],
        )
        plans = cursor.fetchall()
    assert plans == [(len(chats * 4), 0)]


def test_constants_may_have_any_characters(alice: User):
    for title in CONSTANTS:
        create_chat(alice, title=title)
    for title, rows in zip(CONSTANTS, OF_CONSTANTS, strict=True):
        assert [chat.title for chat in rows.rows(alice.pk)] == [title]


def test_a_log_of_statements_shows_a_prepared_one_with_its_parameters(alice: User):
    chat = create_chat(alice, title="One")
    with CaptureQueriesContext(connection) as captured:
        BY_ID.first(alice.pk, chat.pk)
    (query,) = captured
    assert query["sql"].startswith("SELECT")
    assert chat.pk.hex in query["sql"]


def set_length_of_titles(length: int) -> None:
    """Change the type of a column, as the migration of another process."""
    with ThreadPoolExecutor(1) as other:
        other.submit(execute, f"ALTER TABLE chats_chat ALTER title TYPE varchar({length})").result()


def execute(statement: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(statement)
    connection.close()


@pytest.fixture
def length_of_titles(transactional_db: None) -> Iterator[int]:
    length = Chat._meta.get_field("title").max_length
    yield length
    set_length_of_titles(length)


def test_statements_are_prepared_again_after_a_migration(alice: User, length_of_titles: int):
    chat = create_chat(alice, title="One")
    assert TITLES_BY_ID.first(alice.pk, chat.pk) == "One"
    set_length_of_titles(length_of_titles + 1)
    assert TITLES_BY_ID.first(alice.pk, chat.pk) == "One"
    set_length_of_titles(length_of_titles + 2)
    with pytest.raises(NotSupportedError) as raised, transaction.atomic():
        TITLES_BY_ID.first(alice.pk, chat.pk)
    assert is_rolled_back(raised.value)
    assert TITLES_BY_ID.first(alice.pk, chat.pk) == "One"


def test_a_write_after_a_migration_is_repeated(alice: User, length_of_titles: int):
    api, chat = client_of(alice), create_chat(alice, title="One")
    for length in (length_of_titles, length_of_titles + 1):
        set_length_of_titles(length)
        response = api.patch(f"/api/v1/chats/{chat.pk}/", {"title": str(length)}, format="json")
        assert response.status_code == 200, response.content


def test_the_driver_keeps_no_text_of_other_statements(alice: User):
    chat = create_chat(alice, title="One")
    with transaction.atomic():  # a rollback would discard what is kept
        BY_ID.first(alice.pk, chat.pk)
        for number in range(3):
            Chat.objects.for_owner(alice).filter(title=f"secret {number}").exists()
        kept = connection.connection._prepared
        assert not kept._counts
        assert kept._names


@pytest.mark.django_db(transaction=True)
def test_no_row_is_locked_outside_of_a_transaction(alice: User):
    chat = create_chat(alice, title="One")
    with transaction.atomic():
        assert LOCKED_CHAT.first(alice.pk, chat.pk)
    with pytest.raises(transaction.TransactionManagementError):
        LOCKED_CHAT.first(alice.pk, chat.pk)
