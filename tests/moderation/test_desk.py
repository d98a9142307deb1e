"""The moderators' desk: several moderators at once, what has gone meanwhile, what is very long, and very many cases."""

import datetime as dt
from typing import Any

import pytest
import time_machine
from django.contrib.auth.models import Group, Permission
from django.core.exceptions import PermissionDenied
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from apps.accounts.models import User
from apps.accounts.operations import delete_account
from apps.chats.models import Chat, Message, Swipe
from apps.chats.operations import delete_chat
from apps.moderation.excerpts import SHOWN, excerpt
from apps.moderation.models import Action, Case, Kind, Look, Notice, Report, Rule
from apps.moderation.operations.cases import claim
from apps.moderation.operations.decisions import UNDO_TIME, decide, reverse, undo
from apps.moderation.operations.flags import store_flag
from apps.moderation.operations.looks import look_at_case
from apps.moderation.operations.notices import answer
from apps.moderation.operations.reports import report
from apps.moderation.scanning.rules import matchers_named
from apps.moderation.targets import find_target
from tests.factories import UserFactory, make_character, make_memory
from tests.moderation.conftest import SECRET, make_staff, signed_in

CASES = "/admin/moderation/case/"


def page_of(case: Case, suffix: str = "change/") -> str:
    return f"{CASES}{case.pk}/{suffix}"


def read(browser: Client, address: str) -> str:
    reply = browser.get(address, follow=True)
    assert reply.status_code == 200, address
    return reply.content.decode()


def do(browser: Client, case: Case, action: str, **form: Any) -> str:
    reply = browser.post(page_of(case, f"do/{action}/"), form, follow=True)
    assert reply.status_code == 200
    return reply.content.decode()


@pytest.fixture
def other(db: None) -> User:
    return make_staff("other@example.com", "Moderators")


def test_the_text_is_on_the_page_of_the_case_during_a_look(case: Case, moderator: User, other: User) -> None:
    browser = signed_in(moderator)
    assert SECRET not in read(browser, page_of(case))
    assert SECRET in do(browser, case, "look")
    assert SECRET in read(browser, page_of(case))
    assert SECRET not in read(signed_in(other), page_of(case))
    look = Look.objects.for_owner(case.owner_id).get()
    with time_machine.travel(look.expires_at + dt.timedelta(seconds=1)):
        assert SECRET not in read(signed_in(moderator), page_of(case))


def test_the_second_moderator_is_told_what_the_first_one_does(case: Case, moderator: User, other: User) -> None:
    browser = signed_in(moderator)
    state = page_of(case, "state/?as=open")
    assert "mod@example.com" not in read(browser, state)
    look_at_case(other, case.pk)
    assert "other@example.com is reading this" in read(browser, state)
    claim(other, case.pk)
    page = read(browser, page_of(case))
    assert "other@example.com has claimed this case" in page
    assert 'name="decision"' not in page
    decide(other, case.pk, "dismiss", reason="Nothing is wrong.")
    assert "other@example.com has decided this case meanwhile: Dismiss" in read(browser, state)
    refusal = do(browser, case, "decide", decision="hide", reason="It is against rule 3.", days=7)
    assert "This case is decided already: Dismiss, by other@example.com." in refusal
    assert Action.objects.filter(verb="hide").count() == 0


def test_a_text_that_has_changed_is_read_again_before_it_is_decided(
    case: Case, message: Message, moderator: User
) -> None:
    browser = signed_in(moderator)
    page = do(browser, case, "look")
    seen = page.partition('name="seen" value="')[2].partition('"')[0]
    form = {"decision": "hide", "reason": "It is against rule 3.", "days": 7, "seen": seen}
    Swipe.objects.for_owner(case.owner_id).filter(message=message).update(mes="Something harmless.")
    assert "changed or deleted since you read it" in do(browser, case, "decide", **form)
    case.refresh_from_db()
    assert case.state == "open"
    page = read(browser, page_of(case))
    assert "Something harmless." in page
    form["seen"] = page.partition('name="seen" value="')[2].partition('"')[0]
    do(browser, case, "decide", **form)
    case.refresh_from_db()
    assert case.decision == "hide"


def test_what_has_gone_can_be_decided_and_what_is_in_the_bin_be_read(
    case: Case, chat: Chat, message: Message, moderator: User
) -> None:
    browser = signed_in(moderator)
    delete_chat(chat)
    page = do(browser, case, "look")
    assert SECRET in page
    assert "put it into the bin" in page
    message.delete()
    page = read(browser, page_of(case))
    assert SECRET not in page
    assert "its owner has deleted it" in page
    do(browser, case, "decide", decision="hide", reason="It is against rule 3.", days=7)
    case.refresh_from_db()
    assert case.decision == "hide"


def test_the_report_of_an_account_that_is_gone_keeps_its_reason(alice: User, moderator: User) -> None:
    target = find_target(alice, "character", make_character(alice, description=SECRET).pk)
    reporter = UserFactory(email="gone@example.com")
    case = report(reporter, target, reason="violence", note="My own words.").case
    delete_account(reporter)
    browser = signed_in(moderator)
    page = read(browser, page_of(case))
    assert "Violence or self-harm" in page
    assert "an account that is gone" in page
    assert "My own words." not in page
    assert str(case.pk) in read(browser, f"{CASES}?reason=violence")
    assert SECRET in do(browser, case, "look")  # it was reported: no reason has to be typed
    do(browser, case, "decide", decision="hide", reason="It is against rule 3.", days=7)
    assert Notice.objects.for_owner(alice).count() == 1


def test_two_reports_of_one_thing_are_one_entry(alice: User, moderator: User) -> None:
    target = find_target(alice, "character", make_character(alice).pk)
    case = report(alice, target, reason="other").case
    assert report(UserFactory(), target, reason="other").case == case
    page = read(signed_in(moderator), f"{CASES}?reason=other")
    assert page.count(f'value="{case.pk}"') == 1


def test_of_a_very_long_text_the_place_that_a_rule_found_is_shown(alice: User, moderator: User) -> None:
    text = "word " * 40_000 + "a knife" + " word" * 40_000
    Rule.objects.create(name="weapons", text="knife")
    target = find_target(alice, "character", make_character(alice, description=text).pk)
    store_flag(target, text, "weapons")
    case = Case.objects.for_owner(alice).get()
    page = do(signed_in(moderator), case, "look", reason="It was flagged for weapons.")
    assert "<mark>knife</mark>" in page
    assert len(page) < 60_000
    shown = excerpt(text, matchers_named(["weapons"]))
    assert sum(len(piece) for piece, _ in shown.pieces) == SHOWN
    assert shown.before + SHOWN + shown.after == len(text)
    assert ("knife", True) in shown.pieces


def test_a_thousand_open_cases_come_in_pages(alice: User, moderator: User) -> None:
    character = make_character(alice)
    one = find_target(alice, "character", character.pk)
    cases = [Case(owner=alice, kind="memory", target_id=make_id(), reasons=["other"]) for _ in range(1000)]
    Case.objects.bulk_create(cases)
    last = report(alice, one, reason="other").case
    browser = signed_in(moderator)
    with CaptureQueriesContext(connection) as queries:
        first = read(browser, CASES)
    assert len(queries) < 40
    assert first.count('name="_selected_action"') == 50
    assert "1001 cases" in first
    assert "page 1 of 21" in first
    assert str(last.pk) in read(browser, f"{CASES}?p=21")
    page = do(browser, cases[49], "decide", decision="dismiss", reason="Nothing is wrong.", days=7)
    assert f"{CASES}{cases[50].pk}/do/decide/" in page


def make_id() -> Any:
    return Case._meta.pk.get_default()


def test_who_may_see_one_kind_sees_no_other(alice: User, case: Case, moderator: User) -> None:
    group = Group.objects.create(name="Memories")
    names = ["view_case", "decide_case", "look_at_content", f"moderate_{Kind.MEMORY}"]
    group.permissions.add(*Permission.objects.filter(content_type__app_label="moderation", codename__in=names))
    narrow = User.objects.create_user("narrow@example.com", "a-long-password", is_staff=True)
    narrow.groups.add(group)
    memory = report(
        alice, find_target(alice, "memory", make_memory(case_chat(case), "It is there.").pk), reason="other"
    ).case
    browser = signed_in(narrow)
    page = read(browser, CASES)
    assert str(memory.pk) in page
    assert str(case.pk) not in page
    for address in (page_of(case), page_of(case, "state/")):
        assert browser.get(address).status_code in (302, 404)
    for action in ("claim", "look", "note", "decide"):
        form = {"reason": "It is against rule 3.", "decision": "hide", "days": 7}
        assert browser.post(page_of(case, f"do/{action}/"), form).status_code == 403
    browser.post(CASES, {"action": "hide", "reason": "Rule 3.", "_selected_action": [str(case.pk), str(memory.pk)]})
    assert set(Action.objects.values_list("case_id", flat=True)) == {memory.pk}
    with pytest.raises(PermissionDenied):
        look_at_case(narrow, case.pk)


def case_chat(case: Case) -> Chat:
    return Chat.objects.for_owner(case.owner_id).get()


@pytest.mark.parametrize("decision", ["dismiss", "hide", "suspend"])
def test_a_decision_is_undone_by_who_made_it_while_it_is_fresh(
    case: Case, message: Message, moderator: User, other: User, decision: str
) -> None:
    browser = signed_in(moderator)
    page = do(browser, case, "decide", decision=decision, reason="It is against rule 3.", days=7)
    assert f"undo/?case={case.pk}" in page
    assert "nothing to undo" in signed_in(other).post(f"{CASES}undo/?case={case.pk}", follow=True).content.decode()
    with time_machine.travel(timezone.now() + UNDO_TIME):
        assert (
            "nothing to undo" in signed_in(moderator).post(f"{CASES}undo/?case={case.pk}", follow=True).content.decode()
        )
    case.refresh_from_db()
    assert case.decision == decision
    assert "Undone: 1." in browser.post(f"{CASES}undo/?case={case.pk}", follow=True).content.decode()
    case.refresh_from_db()
    message.refresh_from_db()
    owner = User.objects.get(pk=case.owner_id)
    assert (case.state, case.decision, case.hides, message.withheld, owner.suspended_until) == (
        "open",
        "",
        False,
        False,
        None,
    )
    assert Action.objects.filter(verb=f"undo {decision}", case_id=case.pk).count() == 1
    assert decide(other, make_free(case, other).pk, "dismiss", reason="Nothing is wrong.").decision == "dismiss"


def undone_hiding(case: Case, moderator: User) -> Notice:
    """Hide, undo, and return the notice of the hiding, which its owner may still answer."""
    decide(moderator, case.pk, "hide", reason="By mistake.")
    undo(moderator, case.pk)
    return Notice.objects.for_owner(case.owner_id).get(decision="hide", is_about_report=False)


def test_an_answer_to_what_was_undone_ends_with_the_next_decision(case: Case, moderator: User) -> None:
    notice = undone_hiding(case, moderator)
    answer(notice.owner_id, notice.pk, "It is a quotation.")
    browser = signed_in(moderator)
    assert "No answer waits." in do(browser, case, "uphold", reason="It stays.")
    do(browser, case, "decide", decision="dismiss", reason="Nothing is wrong.", days=7)
    case.refresh_from_db()
    assert (case.decision, case.is_answered) == ("dismiss", False)
    assert "Nothing waits" in read(browser, CASES)
    undo(moderator, case.pk)


def test_an_answer_to_what_was_undone_that_comes_after_a_dismissal_leaves_the_queue(
    case: Case, moderator: User
) -> None:
    notice = undone_hiding(case, moderator)
    decide(moderator, case.pk, "dismiss", reason="Nothing is wrong.")
    answer(notice.owner_id, notice.pk, "It is a quotation.")
    notices = Notice.objects.for_owner(case.owner_id).filter(is_about_report=False)
    assert notices.count() == 2
    browser = signed_in(moderator)
    do(browser, case, "uphold", reason="It was read.")
    assert "Nothing waits" in read(browser, CASES)
    assert notices.count() == 2, "owners are told nothing of a dismissal"


def make_free(case: Case, moderator: User) -> Case:
    Case.objects.for_owner(case.owner_id).update(assigned_to=None)
    return case


def test_many_decisions_are_undone_at_once(alice: User, moderator: User) -> None:
    made = [make_character(alice, name) for name in ("Mira", "Bo", "Cy")]
    cases = [report(alice, find_target(alice, "character", one.pk), reason="other").case for one in made]
    browser = signed_in(moderator)
    chosen = {"action": "hide", "reason": "As it was reported.", "_selected_action": [case.pk for case in cases]}
    page = browser.post(CASES, chosen, follow=True).content.decode()
    undoing = page.partition(f'action="{CASES}undo/')[2].partition('"')[0].replace("&amp;", "&")
    assert undoing.count("case=") == 3
    assert Case.objects.for_owner(alice).filter(hides=True).count() == 3
    assert "Undone: 3." in browser.post(f"{CASES}undo/{undoing}", follow=True).content.decode()
    assert Case.objects.for_owner(alice).filter(state="open", hides=False).count() == 3


def test_what_was_reported_again_meanwhile_is_not_opened_twice(case: Case, alice: User, moderator: User) -> None:
    decide(moderator, case.pk, "dismiss", reason="Nothing is wrong.")
    again = report(alice, find_target(alice, "message", case.target_id), reason="privacy").case
    page = signed_in(moderator).post(f"{CASES}undo/?case={case.pk}", follow=True).content.decode()
    assert "reported again meanwhile" in page
    assert Case.objects.for_owner(alice).filter(state="open").get() == again


def test_a_suspension_ends_with_the_last_decision_that_asks_for_it(alice: User, moderator: User) -> None:
    made = [make_character(alice, name) for name in ("Mira", "Bo", "Cy")]
    first, second, third = (report(alice, find_target(alice, "character", one.pk), reason="other").case for one in made)

    def until() -> dt.datetime | None:
        return User.objects.get(pk=alice.pk).suspended_until

    with time_machine.travel(timezone.now() - dt.timedelta(days=30)):
        decide(moderator, first.pk, "suspend", reason="It is against rule 3.", days=2)  # over by now
    decide(moderator, second.pk, "suspend", reason="It is against rule 4.", days=3)
    decide(moderator, third.pk, "suspend", reason="It is against rule 5.", days=9)
    second.refresh_from_db()
    reverse(moderator, third.pk, reason="So be it.")
    assert until() == second.suspended_until
    reverse(moderator, second.pk, reason="So be it.")
    assert until() is None


def test_a_banned_owner_comes_back_by_an_undo(case: Case, administrator: User) -> None:
    decide(administrator, case.pk, "ban", reason="It is the third time.")
    assert not User.objects.get(pk=case.owner_id).is_active
    undo(administrator, case.pk)
    assert User.objects.get(pk=case.owner_id).is_active


def test_what_is_ones_own_offers_no_decision(moderator: User) -> None:
    own = report(moderator, find_target(moderator, "character", make_character(moderator).pk), reason="other").case
    page = read(signed_in(moderator), page_of(own))
    assert "This is your own." in page
    assert 'name="decision"' not in page


def test_texts_of_users_are_no_markup(alice: User, moderator: User) -> None:
    text = "<script>alert(1)</script> knife"
    Rule.objects.create(name="<b>weapons</b>", text="knife")
    target = find_target(alice, "character", make_character(alice, name="<i>Mira</i>", description=text).pk)
    case = report(alice, target, reason="other", note="<u>note</u>").case
    store_flag(target, text, "<b>weapons</b>", ["<em>"])
    page = do(signed_in(moderator), case, "look")
    assert "&lt;script&gt;alert(1)&lt;/script&gt; <mark>knife</mark>" in page
    for markup in ("<b>weapons", "<i>Mira", "<u>note", "<em>"):
        assert markup not in page


@pytest.mark.parametrize(
    "address", ["?_changelist_filters=%3D%26p%3Dx", "?_changelist_filters=p%3D999", "?_changelist_filters=kind%3Dno"]
)
def test_an_address_that_somebody_wrote_shows_the_case_all_the_same(case: Case, moderator: User, address: str) -> None:
    assert "Look at that." in read(signed_in(moderator), page_of(case) + address)


@pytest.mark.parametrize("value", ["case=x", "case=", ""])
def test_undoing_nothing_shows_the_queue(case: Case, moderator: User, value: str) -> None:
    assert signed_in(moderator).post(f"{CASES}undo/?{value}", follow=True).status_code == 200
    assert signed_in(moderator).get(f"{CASES}undo/?{value}").status_code == 404


def test_the_menu_leads_staff_to_the_desk(alice: User, moderator: User) -> None:
    assert CASES in read(signed_in(moderator), "/settings/moderation/")
    assert "/admin/" not in read(signed_in(alice), "/settings/moderation/")


def test_the_roles_have_no_more_than_they_need(moderator: User, administrator: User) -> None:
    lists = ("accounts.view_user", "chats.view_chat", "moderation.look_at_chat", "moderation.view_dashboard")
    assert [name for name in lists if moderator.has_perm(name)] == []
    assert [name for name in lists if administrator.has_perm(name)] == list(lists)
    assert signed_in(moderator).get("/admin/accounts/user/").status_code == 403
    assert signed_in(moderator).get("/admin/moderation/look/add/").status_code == 403


def test_reasons_are_kept_once(case: Case, alice: User) -> None:
    target = find_target(alice, "message", case.target_id)
    report(UserFactory(), target, reason="other")
    report(UserFactory(), target, reason="privacy")
    case.refresh_from_db()
    assert case.reasons == ["other", "privacy"]
    assert Report._base_manager.filter(case=case).count() == 3
