"""The page on what the installation uses, and what is said and refused while the disk is almost full, or full."""

from typing import Any

import pytest
from django.conf import settings as django_settings
from django.db import connection
from django.test import Client

from apps.accounts.models import User
from apps.accounts.operations import close_account, create_token
from apps.chats.models import ImportJob, Message
from apps.common import jobs
from apps.common.disk import free_megabytes
from apps.launcher import usage
from apps.moderation.roles import ADMINISTRATORS
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_chat
from tests.moderation.conftest import make_staff, signed_in

pytestmark = pytest.mark.django_db

PAGE = "/admin/installation/"


@pytest.fixture
def administrator() -> Client:
    return signed_in(make_staff("admin@example.com", ADMINISTRATORS))


@pytest.fixture
def full_disk(settings: Any) -> None:
    """Have the disk of the tests count as full."""
    settings.LOCI_HOME.mkdir(exist_ok=True)
    settings.DISK_FULL_MEGABYTES = free_megabytes() * 2


def test_it_shows_memory_disk_and_queues(administrator: Client, settings: Any) -> None:
    settings.LOCI_HOME.mkdir(exist_ok=True)
    text = administrator.get(PAGE).content.decode()
    for queue in django_settings.QUEUES:
        assert f">{queue}<" in text
    assert all(table.name in text for table in usage.largest_tables())
    assert "Database" in text
    assert "GB free" in text
    assert signed_in(UserFactory(email="alice@example.com")).get(PAGE).status_code == 302


def test_a_folder_counts_with_all_below_it(tmp_path: Any) -> None:
    (tmp_path / "deep" / "deeper").mkdir(parents=True)
    (tmp_path / "deep" / "deeper" / "file").write_bytes(b"x" * 100_000)
    (tmp_path / "loop").symlink_to(tmp_path)
    assert 100_000 <= usage.folder_bytes([tmp_path, tmp_path / "missing"]) < 200_000


def test_staff_are_warned_on_each_page_and_nobody_else(settings: Any, administrator: Client) -> None:
    settings.LOCI_HOME.mkdir(exist_ok=True)
    settings.DISK_FULL_MEGABYTES = 0
    alice = signed_in(UserFactory(email="alice@example.com"))
    settings.DISK_WARNING_MEGABYTES = 0
    assert "almost full" not in administrator.get("/").content.decode()
    assert Client().get("/readyz/").json()["disk"] == "ok"
    settings.DISK_WARNING_MEGABYTES = free_megabytes() * 2
    for page in ("/", "/admin/"):
        text = administrator.get(page).content.decode()
        assert "almost full" in text
        assert PAGE in text
    assert "almost full" not in alice.get("/").content.decode()
    assert Client().get("/readyz/").json()["disk"] == "low"


def test_on_a_full_disk_reading_deleting_and_signing_in_go_on(full_disk: None) -> None:
    user: User = UserFactory(email="alice@example.com", password="a-long-password")
    alice, chat = client_of(user), make_chat(user, "Where is the key?")
    refused = alice.post(f"/api/v1/chats/{chat.pk}/append/", {"force": True, "message": {"mes": "x"}})
    assert (refused.status_code, refused["Retry-After"]) == (503, "60")
    assert refused["Content-Type"] == "application/problem+json"
    assert refused.json()["type"] == "/problems/disk-full"
    assert "full" in refused.json()["detail"]
    assert Message.objects.for_owner(user).count() == 1

    assert alice.get(f"/api/v1/chats/{chat.pk}/messages/").status_code == 200
    assert alice.post("/api/v1/memories/search/", {"query": "key"}).status_code == 200
    page = signed_in(user).post(f"/chats/{chat.pk}/rename/", {"title": "x"})
    assert page.status_code == 503
    assert "The disk is full" in page.content.decode()
    login = Client().post("/accounts/login/", {"login": user.email, "password": "a-long-password"})
    assert login.status_code in (200, 302)
    assert alice.delete(f"/api/v1/chats/{chat.pk}/").status_code == 204
    assert Client().get("/readyz/").json()["disk"] == "full"


def test_on_a_full_disk_an_account_is_kept_and_a_token_revoked(full_disk: None, client: Client) -> None:
    """Waiting for space would lose the account, and leave a token in wrong hands."""
    alice: User = UserFactory()
    close_account(alice)
    page = signed_in(alice)
    page.post("/settings/closing/keep/")
    alice.refresh_from_db()
    assert alice.deletion_due_at is None
    token, _ = create_token(alice, name="leaked")
    page.post(f"/settings/tokens/{token.pk}/revoke/")
    token.refresh_from_db()
    assert token.revoked_at is not None
    for path in ("token", "revoke"):  # the reply of OAuth itself
        assert client.post(f"/oauth/{path}", {"token": "x"}).status_code in (200, 400, 401)


def test_on_a_full_disk_jobs_wait(full_disk: None, settings: Any) -> None:
    job = ImportJob.objects.create(owner_id=UserFactory().pk, filename="a")
    jobs.run_next("indexing")
    job.refresh_from_db()
    assert job.state == "queued"
    settings.DISK_FULL_MEGABYTES = 0
    with pytest.raises(ValueError, match="no file"):  # the job begins
        jobs.run_next("indexing")


def test_what_the_database_finds_no_space_for_is_told_so(monkeypatch: Any, client: Client) -> None:
    alice = client_of(UserFactory())
    chat = make_chat(alice.user)
    with connection.cursor() as cursor:
        cursor.execute(
            """CREATE FUNCTION no_space() RETURNS trigger LANGUAGE plpgsql AS $$
            BEGIN RAISE EXCEPTION 'no space' USING ERRCODE = 'disk_full'; END $$;
            CREATE TRIGGER no_space BEFORE INSERT ON chats_message EXECUTE FUNCTION no_space()"""
        )
    reply = alice.post(f"/api/v1/chats/{chat.pk}/append/", {"force": True, "message": {"mes": "x"}})
    assert (reply.status_code, reply.json()["type"]) == (503, "/problems/disk-full")
