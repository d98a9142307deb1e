"""Limits of requests for each user, counted for all processes together."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.test import Client, override_settings

from apps.accounts.checks import check_rates
from apps.accounts.models import User
from apps.common.http.rate_limits import Rate, delete_unused, take
from apps.common.models import RateLimit
from tests.contract.conftest import client_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db


def test_a_user_is_limited_by_kind_of_request_whatever_the_token_and_others_are_not(settings: Any) -> None:
    settings.RATE_LIMITS = {"api": "5/m", "search": "2/m"}
    owner, other = UserFactory(), UserFactory()
    first, second, stranger = client_of(owner), client_of(owner), client_of(other)
    search = ("/api/v1/memories/search/", {"query": "key"})
    assert [first.post(*search).status_code, second.post(*search).status_code] == [200, 200]
    refused = second.post(*search)
    assert (refused.status_code, refused.json()["type"]) == (429, "/problems/throttled")
    assert 25 <= int(refused["Retry-After"]) <= 30
    assert (refused["RateLimit-Limit"], refused["RateLimit-Remaining"]) == ("2", "0")
    assert stranger.post(*search).status_code == 200

    left = [first.get("/api/v1/chats/")["RateLimit-Remaining"] for _ in range(5)]
    assert left == ["4", "3", "2", "1", "0"]
    keyed = second.post("/api/v1/chats/", {"title": "A"}, HTTP_IDEMPOTENCY_KEY="k")
    assert keyed.status_code == 429
    completion = second.post("/v1/models")
    assert (completion.status_code, completion.json()["error"]["type"]) == (429, "rate_limit_error")


def test_pages_are_counted_with_the_api(settings: Any, client: Client) -> None:
    settings.RATE_LIMITS = {"api": "2/m", "imports": "1/m"}
    user = UserFactory()
    client.force_login(user)
    assert [client.post("/chats/import/").status_code for _ in range(2)][1] == 429
    assert client.get("/settings/")["RateLimit-Remaining"] == "1"
    assert client_of(user).get("/api/v1/chats/")["RateLimit-Remaining"] == "0"
    assert client.get("/settings/").status_code == 429
    client.logout()
    assert client.get("/accounts/login/").status_code == 200


def test_no_limit_no_counter(settings: Any) -> None:
    settings.RATE_LIMITS = {"api": ""}
    reply = client_of(UserFactory()).get("/api/v1/chats/")
    assert "RateLimit-Limit" not in reply
    assert not RateLimit.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_requests_at_once_are_all_counted() -> None:
    def request(_: int) -> bool:
        try:
            return take("api someone", Rate(10, 3600)).is_allowed
        finally:
            connection.close()

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(request, range(40))) == 10
    RateLimit.objects.update(used_until="2020-01-01T00:00Z")
    delete_unused()
    assert not RateLimit.objects.exists()


def test_a_request_may_cost_more_than_others(settings: Any) -> None:
    with time_machine.travel("2026-01-01"):
        first = take("bodies a", Rate(10, 60), 8)
        refused = take("bodies a", Rate(10, 60), 4)
        assert (first.is_allowed, first.remaining, refused.is_allowed) == (True, 2, False)
        assert 11 <= refused.retry_after <= 13
        assert take("bodies a", Rate(10, 60), 2).is_allowed
        assert take("bodies b", Rate(10, 60), 400).is_allowed, "all of the allowance"
        assert not take("bodies b", Rate(10, 60)).is_allowed


@pytest.mark.parametrize("text", ["many", "0/m", "5/x", "5"])
def test_what_is_no_rate_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not a rate"):
        Rate.parse(text)
    assert Rate.parse("5/10m") == Rate(5, 600)
    with override_settings(RATE_LIMITS={"api": text}, SIGN_IN_RATES={"sign_in": text}, REGISTRATION_RATE=text):
        assert [error.msg.split(":")[0] for error in check_rates()] == [
            "RATE_LIMIT_API",
            "RATE_LIMIT_SIGN_IN",
            "RATE_LIMIT_REGISTRATIONS",
        ]


def test_guesses_of_a_password_are_limited_also_for_the_admin_site(client: Client) -> None:
    root = User.objects.create_superuser("root@example.com", "root-password")
    login = client.get("/admin/login/?next=/admin/")
    assert (login.status_code, login["Location"].split("?")[0]) == (302, "/accounts/login/")
    assert client.post("/admin/login/", {"username": root.email, "password": "root-password"}).status_code == 302
    assert "_auth_user_id" not in client.session
    for _ in range(6):
        page = client.post("/accounts/login/", {"login": root.email, "password": "wrong"})
    assert "Too many failed" in page.content.decode()
    client.post("/accounts/login/", {"login": root.email, "password": "root-password"})
    assert "_auth_user_id" not in client.session


def test_addresses_are_believed_only_from_trusted_proxies(client: Client, settings: Any) -> None:
    settings.ACCOUNT_RATE_LIMITS = {"login": "2/m/ip"}
    with time_machine.travel("2026-01-01", tick=False):
        for trusted, expected in ((0, 429), (1, 200)):
            settings.ALLAUTH_TRUSTED_PROXY_COUNT = trusted
            for number in range(3):
                page = client.post(
                    "/accounts/login/",
                    {"login": "a@example.com", "password": "x"},
                    HTTP_X_FORWARDED_FOR=f"10.0.0.{number}",
                )
            assert page.status_code == expected
