"""API tokens: creation, use, revocation and expiry, by page and command; the profile page."""

import datetime as dt
from io import StringIO

import pytest
import time_machine
from django.core.management import CommandError, call_command
from django.test import Client
from django.utils import timezone

from apps.accounts.models import ApiToken, User
from apps.accounts.operations import create_token, revoke_token

LIST = "/api/v1/chats/"


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice@example.com", "alice-password")


def test_a_token_authenticates_until_it_is_revoked(client: Client, alice: User) -> None:
    token, secret = create_token(alice, name="laptop")
    assert client.get(LIST, headers=bearer(secret)).status_code == 200
    revoke_token(token)
    assert client.get(LIST, headers=bearer(secret)).status_code == 401


def test_a_token_expires(client: Client, alice: User) -> None:
    _, secret = create_token(alice, name="brief", expires_at=timezone.now() + dt.timedelta(days=1))
    assert client.get(LIST, headers=bearer(secret)).status_code == 200
    with time_machine.travel(timezone.now() + dt.timedelta(days=2)):
        assert client.get(LIST, headers=bearer(secret)).status_code == 401


def test_a_token_of_an_inactive_user_is_refused(client: Client, alice: User) -> None:
    _, secret = create_token(alice, name="laptop")
    User.objects.filter(pk=alice.pk).update(is_active=False)
    assert client.get(LIST, headers=bearer(secret)).status_code == 401


def test_the_secret_is_not_stored(alice: User) -> None:
    token, secret = create_token(alice, name="laptop")
    row = ApiToken.objects.for_owner(alice).values().get(pk=token.pk)
    assert secret not in {str(value) for value in row.values()}
    assert secret.startswith(token.hint)


def test_the_last_use_is_recorded(client: Client, alice: User) -> None:
    token, secret = create_token(alice, name="laptop")
    client.get(LIST, headers=bearer(secret))
    token.refresh_from_db()
    assert token.last_used_at is not None


def test_the_page_creates_a_token_shows_its_secret_once_and_revokes_it(client: Client, alice: User) -> None:
    client.force_login(alice)
    made = client.post("/settings/tokens/", {"name": "laptop", "scope": "read", "days": "30"})
    token = ApiToken.objects.for_owner(alice).get()
    secret = made.context["secret"]
    assert secret in made.content.decode()
    assert secret not in client.get("/settings/tokens/").content.decode()
    assert (token.scope, token.expires_at is not None) == ("read", True)
    client.post(f"/settings/tokens/{token.pk}/revoke/", follow=True)
    assert "laptop" not in client.get("/settings/tokens/").content.decode().split("Your tokens")[1]
    assert client.get(LIST, headers=bearer(secret)).status_code == 401


def test_a_token_without_a_name_is_refused(client: Client, alice: User) -> None:
    client.force_login(alice)
    assert client.post("/settings/tokens/", {"name": "", "scope": "write"}).status_code == 400
    assert not ApiToken.objects.for_owner(alice).exists()


def test_the_command_prints_only_the_token(client: Client, db: None) -> None:
    out = StringIO()
    call_command("token", "new@example.com", "--create", stdout=out)
    assert client.get(LIST, headers=bearer(out.getvalue().strip())).status_code == 200
    with pytest.raises(CommandError):
        call_command("token", "nobody@example.com")
    with pytest.raises(CommandError, match="'notmail' is no e-mail address"):
        call_command("token", "notmail", "--create")
    with pytest.raises(CommandError, match="--namespace is empty"):
        call_command("token", "new@example.com", "--namespace", "")


def test_the_settings_require_login(client: Client, db: None) -> None:
    for url in ("/settings/", "/settings/tokens/"):
        reply = client.get(url)
        assert (reply.status_code, reply["Location"].split("?")[0]) == (302, "/accounts/login/")


def test_the_user_name_can_be_changed(client: Client, alice: User) -> None:
    client.force_login(alice)
    client.post("/settings/", {"name": "Alice L."})
    alice.refresh_from_db()
    assert alice.name == "Alice L."


def test_email_addresses_are_unique_ignoring_case(alice: User) -> None:
    with pytest.raises(Exception, match="user_email_unique"):
        User.objects.create_user("ALICE@example.com")
