"""Two-step sign-in: codes of an app, recovery codes, and what operators do."""

import re
import time
from typing import Any

import pytest
import time_machine
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal.auth import format_hotp_value, hotp_value
from django.core import mail
from django.core.management import call_command
from django.db import connection
from django.test import Client

from apps.accounts.models import User
from apps.accounts.operations import ensure_user
from tests.contract.test_owner_scope import things_of_alice

pytestmark = pytest.mark.django_db

PASSWORD = "correct horse 9"
AUTHENTICATE = "/accounts/2fa/authenticate/"


def code_of(secret: str, steps: int = 0) -> str:
    return format_hotp_value(hotp_value(secret, int(time.time()) // 30 + steps))


@pytest.fixture
def alice() -> User:
    return ensure_user("alice@example.com", PASSWORD)


@pytest.fixture
def signed_in(alice: User) -> Client:
    return confirmed(after_password(alice))


def confirmed(client: Client) -> Client:
    """The browser, in which the password was entered again."""
    client.post("/accounts/reauthenticate/", {"password": PASSWORD})
    return client


def after_password(user: User, next_page: str = "") -> Client:
    """A signed_in in which the user's password was just entered."""
    client = Client()
    client.post("/accounts/login/", {"login": user.email, "password": PASSWORD, "next": next_page})
    return client


@pytest.fixture
def secret(signed_in: Client) -> str:
    """The key of the user's authenticator app, which is turned on."""
    page = signed_in.get("/accounts/2fa/totp/activate/").content.decode()
    found = re.search(r'id="totp-key"[^>]*value="([A-Z2-7]+)"', page)
    assert found is not None
    assert signed_in.post("/accounts/2fa/totp/activate/", {"code": code_of(found[1])}).status_code == 302
    return found[1]


def is_signed_in(client: Client) -> bool:
    return client.get("/settings/").status_code == 200


def test_a_password_alone_is_not_enough(alice: User, secret: str) -> None:
    client = after_password(alice)
    assert not is_signed_in(client)
    assert client.post(AUTHENTICATE, {"code": "000000"}).status_code == 200
    with time_machine.travel(time.time() + 60):
        client.post(AUTHENTICATE, {"code": code_of(secret)})
    assert is_signed_in(client)


def test_a_code_is_valid_once(alice: User, secret: str) -> None:
    with time_machine.travel(time.time() + 90, tick=False):
        first, second = after_password(alice), after_password(alice)
        code = code_of(secret)
        first.post(AUTHENTICATE, {"code": code})
        second.post(AUTHENTICATE, {"code": code})
    assert (is_signed_in(first), is_signed_in(second)) == (True, False)


def test_codes_cannot_be_guessed_without_end(alice: User, secret: str) -> None:
    client = after_password(alice)
    for _ in range(6):
        client.post(AUTHENTICATE, {"code": "000000"})
    with time_machine.travel(time.time() + 60):
        client.post(AUTHENTICATE, {"code": code_of(secret)})
    assert not is_signed_in(client)


def test_a_recovery_code_is_valid_once_and_new_ones_replace_it(alice: User, signed_in: Client, secret: str) -> None:
    codes = signed_in.get("/accounts/2fa/recovery-codes/download/").content.decode().split()
    assert len(set(codes)) == 10
    first, second = after_password(alice), after_password(alice)
    first.post(AUTHENTICATE, {"code": codes[0]})
    second.post(AUTHENTICATE, {"code": codes[0]})
    assert (is_signed_in(first), is_signed_in(second)) == (True, False)
    signed_in.post("/accounts/2fa/recovery-codes/generate/")
    second.post(AUTHENTICATE, {"code": codes[1]})
    assert not is_signed_in(second)


def test_the_admin_site_asks_for_the_second_step_too(alice: User, secret: str) -> None:
    User.objects.update(is_staff=True, is_superuser=True)
    client = after_password(alice, "/admin/")
    assert client.get("/admin/").status_code == 302
    posted = client.post("/admin/login/", {"username": alice.email, "password": PASSWORD})
    assert (posted.status_code, client.get("/admin/").status_code) == (302, 302)
    with time_machine.travel(time.time() + 60):
        client.post(AUTHENTICATE, {"code": code_of(secret)})
    assert client.get("/admin/").status_code == 200


def test_secrets_are_encrypted_and_follow_the_secret_key(alice: User, secret: str, settings: Any) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT string_agg(data::text, ' ') FROM mfa_authenticator")
        assert secret not in cursor.fetchone()[0]
    settings.SECRET_KEY_FALLBACKS = [settings.SECRET_KEY]
    settings.SECRET_KEY = "another"
    call_command("rotate_keys")
    settings.SECRET_KEY_FALLBACKS = []
    totp = Authenticator.objects.get(user=alice, type="totp")
    with time_machine.travel(time.time() + 60):
        assert totp.wrap().validate_code(code_of(secret))
    settings.SECRET_KEY = "lost"
    with time_machine.travel(time.time() + 120):
        assert not totp.wrap().validate_code(code_of(secret))
        assert not totp.wrap().validate_code(code_of(""))


def test_who_lost_everything_is_helped_by_an_administrator(alice: User, secret: str, client: Client) -> None:
    client.force_login(User.objects.create_superuser("root@example.com"))
    client.post("/admin/accounts/user/", {"action": "remove_factors", "_selected_action": [alice.pk]})
    assert is_signed_in(after_password(alice))


@pytest.mark.django_db(transaction=True)  # mails are sent after the commit
def test_it_is_turned_off_again_and_each_change_is_mailed(signed_in: Client, alice: User, secret: str) -> None:
    assert signed_in.post("/accounts/2fa/totp/deactivate/").status_code == 302
    assert not Authenticator.objects.exists()
    assert is_signed_in(after_password(alice))
    assert len(mail.outbox) >= 2
    assert {message.to[0] for message in mail.outbox} == {alice.email}


def test_the_pages_need_the_password_again_after_a_while(signed_in: Client, alice: User) -> None:
    with time_machine.travel(time.time() + 3600):
        for page in ("totp/activate/", "webauthn/add/"):
            assert signed_in.get(f"/accounts/2fa/{page}")["Location"].startswith("/accounts/reauthenticate/")


def test_another_user_finds_no_key() -> None:
    alice = things_of_alice()["user"]
    key = Authenticator.objects.create(user=alice, type="webauthn", data={"name": "Hers", "credential": {}})
    User.objects.create_user("bob@example.com", PASSWORD)
    bob = confirmed(after_password(User.objects.get(email="bob@example.com")))
    for action in ("edit", "remove"):
        assert bob.get(f"/accounts/2fa/webauthn/keys/{key.pk}/{action}/").status_code == 404
        assert bob.post(f"/accounts/2fa/webauthn/keys/{key.pk}/{action}/", {"name": "His"}).status_code == 404
    alice.delete()
    assert not Authenticator.objects.exists()
