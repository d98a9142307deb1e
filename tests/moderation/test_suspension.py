"""A suspended user reads, exports and answers, but writes nothing in any way, and nothing is done for them."""

import datetime as dt
from typing import Any

import pytest
import time_machine
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.models import Chat, ImportJob
from apps.common import jobs
from apps.moderation.models import Case, Notice
from apps.moderation.operations.decisions import decide, reverse
from apps.moderation.operations.reports import report
from apps.moderation.targets import find_target
from apps.snapshots.models import Snapshot
from tests.contract.conftest import client_of
from tests.coroutines import call_in_thread
from tests.factories import make_character
from tests.moderation.conftest import signed_in


@pytest.fixture
def suspended(case: Case, moderator: User) -> User:
    decide(moderator, case.pk, "suspend", reason="Calm down.", days=3)
    case.owner.refresh_from_db()
    return case.owner


def write_in_every_way(user: User, chat: Chat) -> list[int]:
    api, browser = client_of(user), signed_in(user)
    message = {"messages": [{"name": "Alice", "is_user": True, "mes": "More."}], "integrity": str(chat.integrity)}
    completion = {"model": "x", "messages": [{"role": "user", "content": "More."}]}
    return [
        api.post(f"/api/v1/chats/{chat.pk}/append/", message, format="json").status_code,
        api.post("/api/v1/chats/", {"title": "Another"}, format="json").status_code,
        api.delete(f"/api/v1/chats/{chat.pk}/").status_code,
        call_in_thread(lambda: api.post("/v1/chat/completions", completion, format="json").status_code),
        browser.post(f"/chats/{chat.pk}/rename/", {"title": "Another"}).status_code,
        browser.post("/chats/new/", {"title": "Another"}).status_code,
        browser.post("/api/v1/chats/", {"title": "Another"}, content_type="application/json").status_code,
    ]


@pytest.mark.django_db(transaction=True)  # the proxy is asked in a thread
def test_nothing_is_written_and_everything_can_be_read(suspended: User, chat: Chat) -> None:
    assert set(write_in_every_way(suspended, chat)) == {403}
    assert Chat.objects.for_owner(suspended).get().message_count == 3
    refused = client_of(suspended).post("/api/v1/chats/", {"title": "Another"}, format="json").json()
    assert (refused["type"], refused["reason"]) == ("/problems/suspended", "Calm down.")
    browser = signed_in(suspended)
    assert "Calm down." in browser.post("/chats/new/", {"title": "Another"}).content.decode()
    for page in ("/", f"/chats/{chat.pk}/", "/settings/", "/settings/moderation/", "/settings/snapshots/"):
        assert browser.get(page).status_code == 200, page
    api = client_of(suspended)
    assert api.get(f"/api/v1/chats/{chat.pk}/messages/").status_code == 200
    search = api.post("/api/v1/memories/search/", {"query": "it"}, format="json")
    assert search.status_code == 200


def test_they_answer_take_their_data_along_and_may_leave(suspended: User) -> None:
    browser, api = signed_in(suspended), client_of(suspended)
    notice = Notice.objects.for_owner(suspended).get(is_about_report=False)
    answered = api.post(f"/api/v1/notices/{notice.pk}/answer/", {"text": "I am calm."}, format="json")
    assert (answered.status_code, answered.json()["answer"]) == (200, "I am calm.")
    assert api.post("/api/v1/snapshots/", {}, format="json").status_code == 202
    job = jobs.claim_next([Snapshot])
    assert job is not None
    assert job.owner_id == suspended.pk
    assert browser.post("/accounts/logout/").status_code == 302


def test_their_jobs_wait_until_it_is_over(suspended: User, moderator: User, case: Case) -> None:
    ImportJob.objects.create(owner_id=suspended.pk, filename="heist.jsonl")
    assert jobs.claim_next([ImportJob]) is None
    reverse(moderator, case.pk, reason="It was a quotation.")
    assert jobs.claim_next([ImportJob]) is not None


@pytest.mark.django_db(transaction=True)  # a migration changes the table
def test_suspensions_of_before_the_desk_end_when_they_were_to_end(alice: User, moderator: User) -> None:
    made = [make_character(alice, name) for name in ("Mira", "Bo", "Cy")]
    cases = [report(alice, find_target(alice, "character", one.pk), reason="other").case for one in made]
    ends = {}
    for case, days, ago, also_hide in zip(cases, (2, 3, 30), (60, 1, 0), (False, True, False), strict=True):
        with time_machine.travel(timezone.now() - dt.timedelta(days=ago)):
            ends[case.pk] = decide(
                moderator, case.pk, "suspend", reason="Calm down.", days=days, also_hide=also_hide
            ).suspended_until
    try:
        call_command("migrate", "moderation", "0004", verbosity=0)
    finally:
        call_command("migrate", "moderation", verbosity=0)
    assert dict(Case.objects.for_owner(alice).values_list("pk", "suspended_until")) == ends
    reverse(moderator, cases[2].pk, reason="It was a quotation.")
    alice.refresh_from_db()
    assert alice.suspended_until == ends[cases[1].pk]
    reverse(moderator, cases[1].pk, reason="It was a quotation.")
    assert client_of(alice).post("/api/v1/chats/", {"title": "Another"}, format="json").status_code == 201


@pytest.mark.parametrize("days", [(10, 3), (3, 10)])
@pytest.mark.parametrize("also_hide", [False, True])
def test_the_reason_told_is_that_of_the_suspension_that_runs(
    alice: User, moderator: User, days: tuple[int, int], also_hide: bool
) -> None:
    made = [make_character(alice, name) for name in ("Mira", "Bo")]
    cases = [report(alice, find_target(alice, "character", one.pk), reason="other").case for one in made]
    for case, length, reason in zip(cases, days, ("First.", "Second."), strict=True):
        decide(moderator, case.pk, "suspend", reason=reason, days=length, also_hide=also_hide)
    longer, shorter = (0, 1) if days[0] > days[1] else (1, 0)
    refused = client_of(alice).post("/api/v1/chats/", {"title": "Another"}, format="json").json()
    assert refused["reason"] == ("First.", "Second.")[longer]
    reverse(moderator, cases[longer].pk, reason="It was a quotation.")
    refused = client_of(alice).post("/api/v1/chats/", {"title": "Another"}, format="json").json()
    assert refused["reason"] == ("First.", "Second.")[shorter]


def test_it_ends_by_itself(suspended: User, chat: Chat) -> None:
    assert suspended.suspended_until is not None
    with time_machine.travel(suspended.suspended_until + dt.timedelta(seconds=1)):
        made = client_of(suspended).post("/api/v1/chats/", {"title": "Another"}, format="json")
    assert made.status_code == 201


def test_a_banned_user_gets_in_nowhere(
    case: Case, administrator: User, django_capture_on_commit_callbacks: Any
) -> None:
    alice = case.owner
    alice.set_password("correct horse")
    alice.save()
    api, browser = client_of(alice), signed_in(alice)
    decide(administrator, case.pk, "ban", reason="It is the third time.")
    assert api.get("/api/v1/chats/").status_code == 401
    assert browser.get("/settings/").status_code == 302
    again = Client()
    again.post("/accounts/login/", {"login": alice.email, "password": "correct horse"})
    assert again.get("/settings/").status_code == 302
    reverse(administrator, case.pk, reason="It was somebody else.")
    assert api.get("/api/v1/chats/").status_code == 200
