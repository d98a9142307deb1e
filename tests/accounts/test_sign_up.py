"""Who may create an account: everybody, who is invited, or nobody."""

import datetime as dt
import os
import re
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.core import mail
from django.db import connection
from django.test import Client
from django.utils import timezone

from apps.accounts.checks import check_sign_up
from apps.accounts.models import Invitation, User
from apps.accounts.sign_in.invitations import create_invitation

TOMORROW = dt.timedelta(days=1)


def form_of(name: str) -> dict[str, str]:
    return {"email": f"{name}@example.com", "password1": "blue-stone-1987", "password2": "blue-stone-1987"}


def sign_up(client: Client, name: str) -> bool:
    client.post("/accounts/signup/", form_of(name), follow=True)
    return User.objects.filter(email=f"{name}@example.com").exists()


@pytest.mark.parametrize("mode", ["closed", "invitation"])
def test_nobody_signs_up_where_that_is_not_open(db: None, settings: Any, mode: str) -> None:
    settings.SIGN_UP = mode
    client = Client()
    assert "No new accounts" in client.get("/accounts/signup/").content.decode()
    client.get("/accounts/invitation/guessed/")
    assert not sign_up(client, "alice")


def test_an_administrator_invites_one_person(db: None, settings: Any) -> None:
    settings.SIGN_UP = "invitation"
    office, alice, bob = Client(), Client(), Client()
    office.force_login(User.objects.create_superuser("root@example.com", "root-password"))
    tomorrow = timezone.now() + TOMORROW
    fields = {"note": "Alice", "expires_at_0": tomorrow.date().isoformat(), "expires_at_1": "12:00"}
    page = office.post("/admin/accounts/invitation/add/", fields, follow=True).content.decode()
    [path] = re.findall(r"http://testserver(/accounts/invitation/[^/]+/)", page)
    assert path not in office.get("/admin/accounts/invitation/").content.decode()
    for client in (alice, bob):
        assert client.get(path)["Location"] == "/accounts/signup/"
    assert sign_up(alice, "alice")
    assert not sign_up(bob, "bob")
    assert "used already" in bob.get("/accounts/signup/").content.decode()
    invitation = Invitation.objects.get()
    assert (invitation.used_by.email, invitation.note) == ("alice@example.com", "Alice")


def test_an_invitation_expires(db: None, settings: Any) -> None:
    settings.SIGN_UP = "invitation"
    _, key = create_invitation("", timezone.now() - dt.timedelta(minutes=1))
    client = Client()
    client.get(f"/accounts/invitation/{key}/")
    assert not sign_up(client, "alice")


@pytest.mark.django_db(transaction=True)
def test_of_several_at_a_time_one_uses_the_invitation(settings: Any) -> None:
    settings.SIGN_UP = "invitation"
    _, key = create_invitation("", timezone.now() + TOMORROW)

    def visit(number: int) -> None:
        try:
            client = Client(REMOTE_ADDR=f"10.0.0.{number}")
            client.get(f"/accounts/invitation/{key}/")
            client.post("/accounts/signup/", form_of(f"user{number}"))
        finally:
            connection.close()

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(visit, range(4)))
    assert User.objects.count() == 1


def test_who_signs_up_with_a_known_address_learns_nothing(db: None, settings: Any) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    User.objects.create_user("alice@example.com", "blue-stone-1987")
    pages = [Client().post("/accounts/signup/", form_of(name), follow=True) for name in ("alice", "bob")]
    shown = [re.sub(r"alice|bob|value=.[^ ]+|hx-headers=.*", "", page.content.decode()) for page in pages]
    assert [page.redirect_chain for page in pages] == [[("/accounts/confirm-email/", 302)]] * 2
    assert shown[0] == shown[1]
    assert [message.to for message in mail.outbox] == [["alice@example.com"], ["bob@example.com"]]


@pytest.mark.parametrize("verification", ["optional", "none"])
def test_without_verification_an_invitation_asks_about_one_address(db: None, settings: Any, verification: str) -> None:
    settings.SIGN_UP, settings.ACCOUNT_EMAIL_VERIFICATION = "invitation", verification
    User.objects.create_user("alice@example.com", "blue-stone-1987")
    _, key = create_invitation("", timezone.now() + TOMORROW)
    client = Client()
    client.get(f"/accounts/invitation/{key}/")
    assert "already registered" in client.post("/accounts/signup/", form_of("alice")).content.decode()
    assert not sign_up(client, "bob")
    assert "used already" in client.get("/accounts/signup/").content.decode()


@pytest.mark.parametrize("verification", ["optional", "none"])
def test_strangers_can_not_be_told_who_has_an_account(settings: Any, verification: str) -> None:
    settings.SIGN_UP, settings.ACCOUNT_EMAIL_VERIFICATION = "open", verification
    assert check_sign_up() == [], "on a machine of one's own"
    settings.REACHED_BY_OTHERS = True
    assert [error.id for error in check_sign_up()] == ["accounts.E003"]
    settings.SIGN_UP = "invitation"
    assert check_sign_up() == []
    settings.SIGN_UP, settings.ACCOUNT_EMAIL_VERIFICATION = "open", "mandatory"
    assert check_sign_up() == []


@pytest.mark.parametrize(
    ("variables", "expected"),
    [
        ({}, "open none"),
        ({"ALLOWED_HOSTS": "loci.example"}, "invitation none"),
        ({"ALLOWED_HOSTS": "loci.example", "EMAIL_URL": "smtp://mail.example"}, "open mandatory"),
        ({"EMAIL_URL": "smtp://mail.example", "EMAIL_VERIFICATION": "optional"}, "open optional"),
    ],
)
def test_by_default_strangers_are_not_told_who_has_an_account(variables: dict[str, str], expected: str) -> None:
    code = "from config import settings; print(settings.SIGN_UP, settings.ACCOUNT_EMAIL_VERIFICATION)"
    unset = {"ALLOWED_HOSTS", "EMAIL_URL", "EMAIL_VERIFICATION", "SIGN_UP", "LOCI_HOST", "LOCI_URL"}
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, env=environment | variables, check=True, capture_output=True, text=True).stdout
    assert output.split("\n")[-2] == expected


@pytest.mark.parametrize(
    ("sent", "kept"),
    [("Europe/Berlin", "Europe/Berlin"), ("Asia/Calcutta", "Asia/Calcutta"), ("", "UTC"), ("Moon/Base", "UTC")],
)
def test_the_time_zone_is_the_browsers(db: None, sent: str, kept: str) -> None:
    client = Client()
    assert "data-time-zone" in client.get("/accounts/signup/").content.decode()
    client.post("/accounts/signup/", {**form_of("alice"), "time_zone": sent})
    assert User.objects.get(email="alice@example.com").time_zone == kept
