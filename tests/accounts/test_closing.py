"""An account that its user asks to delete: closed at once, kept if they say so, and gone everywhere after that."""

import datetime as dt
from pathlib import Path

import pytest
from django.conf import settings
from django.core.files.storage import default_storage
from django.db import connection
from django.test import Client
from django.utils import timezone
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.accounts.operations import create_token, delete_due_accounts
from apps.chats.operations import create_chat
from apps.memories.models import Memory
from tests.contract.conftest import client_of
from tests.contract.test_owner_scope import things_of_alice

AFTER_GRACE = dt.timedelta(days=settings.ACCOUNT_DELETION_DAYS, hours=1)


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice@example.com", "correct horse")


@pytest.fixture
def browser(alice: User) -> Client:
    client = Client()
    client.force_login(alice)
    return client


def rows_with(word: str) -> dict[str, int]:
    """Return how many rows of each table have a word in any column."""
    with connection.cursor() as cursor:
        found = {}
        for name in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT count(*) FROM "{name}" AS t WHERE t::text LIKE %s', [f"%{word}%"])
            found[name] = cursor.fetchone()[0]
    return {name: count for name, count in found.items() if count}


def files() -> set[Path]:
    return {path for path in Path(default_storage.location).rglob("*") if path.is_file()}


def test_it_takes_the_password(browser: Client, alice: User) -> None:
    assert browser.post("/settings/closing/", {"confirmation": "wrong"}).status_code == 400
    alice.refresh_from_db()
    assert alice.deletion_due_at is None


def test_a_closed_account_can_only_be_kept_or_left(browser: Client, alice: User) -> None:
    _, secret = create_token(alice, name="program")
    program = APIClient(headers={"Authorization": f"Bearer {secret}"})
    assert program.get("/api/v1/chats/").status_code == 200
    assert browser.post("/settings/closing/", {"confirmation": "correct horse"}).status_code == 302
    assert program.get("/api/v1/chats/").status_code == 401
    assert browser.get("/api/v1/chats/").status_code == 403
    assert browser.get("/").headers["Location"] == "/settings/closing/"
    page = browser.get("/settings/closing/").content.decode()
    assert "Keep my account" in page
    assert "data-user" not in page  # for which scripts would ask the API, which refuses
    browser.post("/settings/closing/keep/")
    assert (browser.get("/settings/").status_code, program.get("/api/v1/chats/").status_code) == (200, 200)
    assert delete_due_accounts(timezone.now() + AFTER_GRACE) == 0


@pytest.mark.django_db
def test_nothing_of_a_deleted_account_is_left_and_nothing_of_others_is_gone(
    django_capture_on_commit_callbacks: object,
) -> None:
    others_files = files()
    user = things_of_alice()["user"]
    assert files() > others_files
    bob = User.objects.create_user("bob@example.com")
    create_chat(bob, title="His")
    before = rows_with(str(bob.pk))
    browser = Client()
    browser.force_login(user)
    assert browser.post("/settings/closing/", {"confirmation": user.email}).status_code == 302
    assert delete_due_accounts(timezone.now()) == 0
    with django_capture_on_commit_callbacks(execute=True):  # type: ignore[operator]
        assert delete_due_accounts(timezone.now() + AFTER_GRACE) == 1
    assert rows_with(str(user.pk)) == {}
    assert rows_with(user.email) == {}
    assert rows_with("The key is") == {}
    assert files() == others_files
    assert rows_with(str(bob.pk)) == before
    assert client_of(bob).get("/api/v1/chats/").json()["results"][0]["title"] == "His"
    with connection.cursor() as cursor:
        cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
    assert Memory._base_manager.count() == 0
    assert delete_due_accounts(timezone.now() + AFTER_GRACE) == 0
