"""How many requests of a user are worked on at once, counted for all processes together."""

import datetime as dt
import uuid
from collections.abc import Callable
from typing import Any

import pytest
from django.contrib.auth.models import AnonymousUser
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory
from django.test.utils import CaptureQueriesContext

from apps.accounts.middleware import concurrency
from apps.accounts.middleware.concurrency import LIFETIME, ConcurrencyMiddleware
from apps.accounts.models import User
from apps.accounts.tasks import sweep_rate_limits
from apps.common import leases
from apps.common.models import Lease
from tests.contract.conftest import client_of
from tests.factories import UserFactory

pytestmark = pytest.mark.django_db

MINUTE = dt.timedelta(minutes=1)


@pytest.fixture(autouse=True)
def two_at_once(settings: Any) -> None:
    settings.RATE_LIMITS, settings.REQUESTS_AT_ONCE = {}, 2


def request_of(user: Any) -> HttpRequest:
    request = RequestFactory().get("/api/v1/chats/")
    request.user = user
    return request


def process(answer: Callable[[HttpRequest], HttpResponse] = lambda request: HttpResponse()) -> ConcurrencyMiddleware:
    """The middleware of one process: each has its own."""
    return ConcurrencyMiddleware(answer)


def test_requests_of_a_user_are_counted_over_all_processes() -> None:
    user, other = UserFactory(), UserFactory()
    refused: list[Any] = []

    def nested(request: HttpRequest) -> HttpResponse:
        return process(last)(request)

    def last(request: HttpRequest) -> HttpResponse:
        refused.append(process()(request_of(user)))
        assert process()(request_of(other)).status_code == 200
        assert process()(request_of(AnonymousUser())).status_code == 200
        return HttpResponse()

    assert process(nested)(request_of(user)).status_code == 200
    assert (refused[0].status_code, refused[0]["Retry-After"]) == (429, "1")
    assert process()(request_of(user)).status_code == 200, "those that were answered are counted no longer"


def test_a_request_that_fails_is_counted_no_longer() -> None:
    user = UserFactory()

    def fail(request: HttpRequest) -> HttpResponse:
        raise ValueError("broken")

    for _ in range(3):
        with pytest.raises(ValueError, match="broken"):
            process(fail)(request_of(user))
    assert process()(request_of(user)).status_code == 200


def begin(user: User) -> None:
    """Begin a request whose process is killed: nothing is given back."""
    assert leases.take(f"requests {user.pk}", uuid.uuid4(), LIFETIME, limit=2) is not None


def test_what_a_killed_process_worked_on_is_counted_for_one_minute() -> None:
    user = UserFactory()
    begin(user)
    begin(user)
    assert process()(request_of(user)).status_code == 429
    lease = Lease.objects.get()
    Lease.objects.update(ends=[lease.ends[0] - MINUTE, lease.ends[1]])
    assert process()(request_of(user)).status_code == 200
    assert len(Lease.objects.get().ends) == 1

    sweep_rate_limits()
    assert Lease.objects.exists()
    Lease.objects.update(ends=[lease.ends[0] - MINUTE])
    sweep_rate_limits()
    assert not Lease.objects.exists()


def test_it_costs_two_statements_and_none_without_a_limit(settings: Any) -> None:
    user = UserFactory()
    with CaptureQueriesContext(connection) as captured:
        process()(request_of(user))
    assert len(captured) == 2
    settings.REQUESTS_AT_ONCE = 0
    with CaptureQueriesContext(connection) as captured:
        process()(request_of(user))
    assert not captured


@pytest.mark.parametrize("function", ["take", "release"])
@pytest.mark.parametrize("error", [OperationalError, InterfaceError])
def test_a_lost_connection_costs_the_count_and_not_the_request(
    monkeypatch: pytest.MonkeyPatch, function: str, error: type[Exception]
) -> None:
    def fail(*args: Any, **kwargs: Any) -> None:
        raise error

    monkeypatch.setattr(leases, function, fail)
    monkeypatch.setattr(concurrency.connection, "close", lambda: None)  # the test's transaction goes on
    assert process()(request_of(UserFactory())).status_code == 200


def test_the_api_answers_with_a_problem() -> None:
    user = UserFactory()
    client = client_of(user)
    assert client.get("/api/v1/chats/").status_code == 200
    begin(user)
    begin(user)
    refused = client.get("/api/v1/chats/")
    assert (refused.status_code, refused.json()["type"]) == (429, "/problems/throttled")
    assert "At most 2 requests at once" in refused.json()["detail"]
