"""Several sync clients write at random to a chat of this server, over a network that loses and delays requests."""

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone
from playwright.sync_api import Page

from apps.accounts.models import User
from apps.accounts.operations import create_token
from apps.chats.operations.trimming import trim_change_logs
from apps.sync.idempotency import drop_old_bodies
from tests.conftest import WebServer
from tests.properties import HISTORIES

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

STEPS = 24
PLAYS = 2  # unless a seed is named
AT_A_TIME = 5
LOAD = """async () => {
  Object.assign(window, await import("/tests/js/play.mjs"), await import("/tests/js/real.mjs"));
}"""
# Returns what went wrong, by seed.
RUN = """async ([token, seeds, steps]) => {
  const failed = {};
  await Promise.all(seeds.map(async (seed) => {
    const server = await new RealServer(token, window.passDays).begin(BEGINNING);
    await new Play(server, seed, { steps, live: false }).run().catch((error) => { failed[seed] = error.stack; });
  }));
  return failed;
}"""


def pass_days(days: int) -> None:
    """Do what the server's sweeps do after so many days."""
    now = timezone.now() + dt.timedelta(days=days)
    drop_old_bodies(now)
    trim_change_logs(now)


@pytest.mark.interleaving
def test_nothing_is_lost_stored_twice_or_garbled(
    page_with_tests: Page, web_server: WebServer, settings: Any, request: pytest.FixtureRequest
) -> None:
    """Play from the seed of the run on: of the first one, unless `make test-explore` names another."""
    settings.CHANGE_LOG_MIN = 3  # so that clients fall behind the log
    _, token = create_token(User.objects.create_user("alice@example.com"), name="Play", scope="write")
    page_with_tests.goto(f"{web_server.url}/accounts/login/")
    page_with_tests.evaluate(LOAD)
    page_with_tests.unroute_all()  # each request would go through the test's process
    page_with_tests.expose_function("passDays", pass_days)
    named = request.config.getoption("--hypothesis-seed")
    first = int(named or 1)
    seeds = list(range(first, first + (HISTORIES if named else PLAYS)))
    for at in range(0, len(seeds), AT_A_TIME):
        assert page_with_tests.evaluate(RUN, [token, seeds[at : at + AT_A_TIME], STEPS]) == {}
