"""What moderators do: they see nothing private without a look, and each action leaves an entry that stays."""

import datetime as dt
from concurrent.futures import ThreadPoolExecutor

import pytest
import time_machine
from django.core.exceptions import PermissionDenied
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.common.database.restriction import restricted_to
from apps.common.problems import Conflict, Problem
from apps.moderation.models import Action, Case, Look
from apps.moderation.operations.cases import claim
from apps.moderation.operations.decisions import decide
from apps.moderation.operations.reports import report
from apps.moderation.targets import find_target
from tests.factories import UserFactory, make_character
from tests.moderation.conftest import SECRET, make_staff, signed_in

CASES = "/admin/moderation/case/"


def do(case: Case, action: str) -> str:
    return f"{CASES}{case.pk}/do/{action}/"


def test_a_private_chat_is_closed_without_a_look(chat: Chat, administrator: User) -> None:
    browser = signed_in(administrator)
    for page in (CASES, "/admin/chats/chat/", f"/admin/chats/chat/{chat.pk}/change/", "/admin/moderation/look/add/"):
        reply = browser.get(page)
        assert reply.status_code == 200, page
        assert SECRET not in reply.content.decode()
    add = "/admin/moderation/look/add/"
    assert "at least" in browser.post(add, {"chat_id": chat.pk, "reason": "why not"}).content.decode()
    assert not Look.objects.for_owner(chat.owner_id).exists()
    page = browser.post(add, {"chat_id": chat.pk, "reason": "The police asks about it."}, follow=True)
    assert SECRET in page.content.decode()
    look = Look.objects.for_owner(chat.owner_id).get()
    assert Action.objects.filter(verb="look", moderator_id=administrator.pk, user_id=chat.owner_id).count() == 1
    content = f"/admin/moderation/look/{look.pk}/content/"
    other = signed_in(make_staff("other@example.com", "Administrators"))
    assert other.get(content).status_code == 403
    with time_machine.travel(look.expires_at + dt.timedelta(seconds=1)):
        late = signed_in(administrator).get(content)
    assert (late.status_code, SECRET in late.content.decode()) == (403, False)
    assert "The police asks about it." in signed_in(chat.owner).get("/settings/moderation/").content.decode()


@pytest.mark.parametrize(
    "path",
    [
        "chats/chat/?title__startswith=The",
        "chats/chat/?metadata__has_key=note",
        "accounts/user/?name__startswith=A",
        "chats/chat/?owner__name__startswith=A",
        "moderation/case/?reports__note__contains=Look",
    ],
)
def test_what_a_list_does_not_show_cannot_be_asked_of_it(case: Case, administrator: User, path: str) -> None:
    reply = signed_in(administrator).get(f"/admin/{path}")
    assert reply.status_code in (302, 400), path
    assert str(case.chat_id) not in reply.content.decode()


def test_a_report_opens_the_message_and_those_around_it(case: Case, moderator: User) -> None:
    browser = signed_in(moderator)
    page = browser.get(f"{CASES}{case.pk}/change/").content.decode()
    assert "Look at that." in page
    assert SECRET not in page
    assert SECRET in browser.post(do(case, "look"), {"reason": ""}, follow=True).content.decode()


def test_each_role_does_what_it_may(case: Case, moderator: User, administrator: User) -> None:
    browser = signed_in(moderator)
    form = {"decision": "ban", "reason": "It is the third time.", "days": 7}
    browser.post(do(case, "decide"), form)
    assert browser.get(f"{CASES}dashboard/").status_code == 403
    case.refresh_from_db()
    assert (case.state, case.owner.is_active) == ("open", True)
    board = signed_in(administrator).get(f"{CASES}dashboard/").content.decode()
    assert "Sign-ups" in board
    assert "<rect" in board
    signed_in(administrator).post(do(case, "decide"), form)
    case.refresh_from_db()
    assert (case.decision, case.owner.is_active) == ("ban", False)
    for staff in (moderator, administrator):
        assert not staff.has_perm("accounts.change_user")
    with pytest.raises(PermissionDenied):
        claim(case.owner, case.pk)


def test_nobody_decides_about_what_is_their_own(moderator: User) -> None:
    target = find_target(moderator, "character", make_character(moderator).pk)
    own = report(moderator, target, reason="other").case
    with pytest.raises(Conflict):
        decide(moderator, own.pk, "dismiss", reason="I am innocent.")


def test_many_are_decided_at_once_with_one_reason(alice: User, moderator: User) -> None:
    targets = [find_target(alice, "character", make_character(alice, name).pk) for name in ("Mira", "Bo", "Cy")]
    cases = [report(alice, target, reason="other").case for target in targets]
    claim(make_staff("other@example.com", "Moderators"), cases[0].pk)
    chosen = {"action": "dismiss", "_selected_action": [case.pk for case in cases]}
    browser = signed_in(moderator)
    assert "A decision needs a reason." in browser.post(CASES, chosen, follow=True).content.decode()
    page = browser.post(CASES, {**chosen, "reason": "Nothing is wrong."}, follow=True).content.decode()
    assert "Done: 2." in page
    assert "Refused: 1. other@example.com has claimed this case." in page
    assert Action.objects.filter(verb="dismiss").count() == 2


@pytest.mark.django_db(transaction=True)
def test_of_two_moderators_one_claims_a_case(case: Case, moderator: User) -> None:
    both = [moderator, make_staff("other@example.com", "Moderators")]

    def try_to_claim(user: User) -> bool:
        try:
            claim(user, case.pk)
        except Problem:
            return False
        finally:
            connection.close()
        return True

    with ThreadPoolExecutor(2) as pool:
        assert sorted(pool.map(try_to_claim, both)) == [False, True]
    assert Action.objects.filter(verb="claim").count() == 1


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE moderation_action SET reason = 'x'",
        "DELETE FROM moderation_action",
        "TRUNCATE moderation_action",
    ],
)
def test_the_database_keeps_the_audit_log(case: Case, moderator: User, statement: str) -> None:
    claim(moderator, case.pk)
    with pytest.raises(DatabaseError), transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(statement)
    assert Action.objects.get(verb="claim").case_id == case.pk


def test_requests_of_users_have_no_access_to_the_audit_log(case: Case, moderator: User) -> None:
    claim(moderator, case.pk)
    with restricted_to(case.owner_id):
        assert not Action.objects.exists()
        with pytest.raises(DatabaseError), transaction.atomic():
            Action.objects.create(moderator_id=moderator.pk, moderator="x", verb="claim")


def test_what_staff_change_elsewhere_is_in_the_audit_log(alice: User) -> None:
    root = User.objects.create_superuser("root@example.com")
    chosen = [UserFactory().pk, UserFactory().pk]
    form = {"action": "delete_selected", "_selected_action": chosen, "post": "yes"}
    signed_in(root).post("/admin/accounts/user/", form)
    found = Action.objects.filter(verb="delete", kind="user", moderator="root@example.com")
    assert {entry.target_id for entry in found} == set(chosen)
    assert not Action.objects.filter(at__gt=timezone.now()).exists()


def test_the_queue_begins_with_what_there_is_to_do(case: Case, moderator: User) -> None:
    browser = signed_in(moderator)

    def shown(query: str) -> bool:
        return str(case.pk) in browser.get(f"{CASES}?{query}").content.decode()

    queries = ("", "queue=unclaimed", "queue=mine", "queue=all", "reason=other", "reason=privacy")
    assert [shown(query) for query in queries] == [True, True, False, True, True, False]
    browser.post(do(case, "claim"))
    assert [shown(query) for query in queries] == [True, False, True, True, True, False]
    decide(moderator, case.pk, "dismiss", reason="Nothing is wrong.")
    assert [shown(query) for query in queries] == [False, False, False, True, False, False]
