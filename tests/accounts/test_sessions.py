"""Where a person is signed in, and how they sign out there."""

import datetime as dt
import re
from typing import Any

import pytest
import time_machine
from allauth.usersessions.models import UserSession
from django.core import mail
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.templatetags.session_filters import browser_name
from tests.contract.conftest import client_of

PASSWORD = "correct-horse-1987"
NEW = {"password1": "blue-stone-1987", "password2": "blue-stone-1987"}
FIREFOX = "Mozilla/5.0 (X11; Linux x86_64; rv:145.0) Gecko/20100101 Firefox/145.0"
SAFARI = "Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X) AppleWebKit/605.1 Version/18.0 Safari/604.1"


@pytest.fixture
def alice(db: None) -> User:
    return User.objects.create_user("alice@example.com", PASSWORD)


def browser(user_agent: str) -> Client:
    client = Client(headers={"User-Agent": user_agent})
    client.post("/accounts/login/", {"login": "alice@example.com", "password": PASSWORD})
    return client


def is_signed_in(client: Client) -> bool:
    return bool(client.get("/settings/").status_code == 200)


def test_one_sees_where_one_is_signed_in_and_signs_out_everywhere_else(alice: User) -> None:
    with time_machine.travel(timezone.now() - dt.timedelta(days=3)):
        phone = browser(SAFARI)
    with time_machine.travel(timezone.now() - dt.timedelta(hours=2)):
        assert is_signed_in(phone)
    desk = browser(FIREFOX)
    stranger = Client()
    stranger.force_login(User.objects.create_user("bob@example.com"))
    assert is_signed_in(stranger)
    page = desk.get("/accounts/sessions/").content.decode()
    assert re.findall(r'<th scope="row">\s*(.+?)\s*<br>', page) == ["Safari on iPhone", "Firefox on Linux"]
    assert re.search(r"<td>2\shours ago</td>", page)
    assert "now, here" in page
    reply = desk.post("/accounts/sessions/", follow=True).content.decode()
    assert "signed out everywhere but here" in reply
    assert "signed in nowhere else" in reply
    assert [is_signed_in(client) for client in (desk, phone, stranger)] == [True, False, True]


def test_few_requests_write_when_a_session_was_used(alice: User) -> None:
    client = browser(FIREFOX)
    assert is_signed_in(client)
    seen = UserSession.objects.get().last_seen_at
    assert is_signed_in(client)
    assert UserSession.objects.get().last_seen_at == seen


def test_the_fields_of_a_new_password_are_labelled_as_others_are(alice: User) -> None:
    page = browser(FIREFOX).get("/accounts/password/change/").content.decode()
    labels = re.findall(r"<label[^>]*>([^<]*)</label>", page)
    assert labels == ["Current password", "New password", "New password, again", "Revoke my API tokens too"]
    assert "New Password" not in page


@pytest.mark.parametrize("wanted", [True, False])
def test_a_new_password_revokes_tokens_if_that_is_wanted(alice: User, wanted: bool) -> None:
    program, other = client_of(alice), browser(SAFARI)
    client = browser(FIREFOX)
    form: dict[str, Any] = NEW | ({"revoke_tokens": "on"} if wanted else {})
    client.post("/accounts/password/change/", {"oldpassword": PASSWORD, **form})
    assert [is_signed_in(client), is_signed_in(other)] == [True, False]
    assert program.get("/api/v1/chats/").status_code == (401 if wanted else 200)


def test_a_password_that_is_reset_revokes_tokens_if_that_is_wanted(alice: User) -> None:
    program, client = client_of(alice), Client()
    client.post("/accounts/password/reset/", {"email": alice.email})
    [link] = re.findall(r"/accounts/password/reset/key/[^/]+/", mail.outbox[0].body)
    address = client.get(link)["Location"]
    client.post(address, NEW | {"revoke_tokens": "on"})
    alice.refresh_from_db()
    assert alice.check_password(NEW["password1"])
    assert program.get("/api/v1/chats/").status_code == 401


@pytest.mark.parametrize(
    ("user_agent", "name"),
    [
        (FIREFOX, "Firefox on Linux"),
        (
            "Mozilla/5.0 (Windows NT 10.0) Chrome/140.0 Safari/537.36 Edg/140.0",
            "Edge on Windows",
        ),
        (
            "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/140.0 Safari/537.36",
            "Chrome on macOS",
        ),
        ("curl/8.5.0", "curl/8.5.0"),
        ("", "An unknown program"),
    ],
)
def test_browsers_have_names(user_agent: str, name: str) -> None:
    assert browser_name(user_agent) == name
