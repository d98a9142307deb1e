"""A moderator's ten cases by keyboard alone, with each kind of decision, in a real browser; and the desk for axe."""

from collections.abc import Callable, Iterator

import pytest
from django.conf import settings
from django.test import Client
from playwright.sync_api import Browser, ConsoleMessage, Page, expect
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.moderation.models import Action, Case, Rule
from apps.moderation.operations.decisions import decide
from apps.moderation.operations.flags import store_flag
from apps.moderation.operations.looks import look_at_case
from apps.moderation.operations.notices import answer
from apps.moderation.operations.reports import report
from apps.moderation.roles import ADMINISTRATORS, MODERATORS
from apps.moderation.targets import find_target
from tests.conftest import missing
from tests.e2e.test_accessibility import AXE, CHECK, EVERYTHING, WAYS, violations_on
from tests.factories import UserFactory, make_character
from tests.lanes import further
from tests.moderation.conftest import make_staff

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

QUEUE = "/admin/moderation/case/"
OPENER = Callable[[User], Page]


@pytest.fixture
def administrator(transactional_db: None) -> User:
    return make_staff("admin@example.com", ADMINISTRATORS)


@pytest.fixture
def open_as(browser: Browser, live_server: LiveServer) -> Iterator[OPENER]:
    """A function that returns a page of a user's own browser. Errors of scripts, or of the policy, fail the test."""
    errors: list[str] = []

    def open_as(user: User) -> Page:
        client = Client()
        client.force_login(user)
        session = client.cookies[settings.SESSION_COOKIE_NAME].value
        context = browser.new_context(base_url=live_server.url)
        context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
        page = context.new_page()
        page.on("console", lambda said: errors.append(f"{said.location} {said.text}") if is_error(said) else None)
        return page

    yield open_as
    assert errors == []


def is_error(said: ConsoleMessage) -> bool:
    """Return whether a page of ours complains; axe adds styles that the policy refuses."""
    return said.type == "error" and "axe" not in str(said.location)


def make_cases(count: int) -> list[Case]:
    """Report a character of each of so many users, the third one flagged by a rule instead."""
    Rule.objects.create(name="weapons", text="knife")
    cases = []
    for number in range(count):
        owner = UserFactory(email=f"user{number}@example.com")
        text = f"Text number {number}, with a knife."
        target = find_target(owner, "character", make_character(owner, description=text).pk)
        if number == 2:
            store_flag(target, text, "weapons")
        else:
            report(owner, target, reason="violence", note=f"Note number {number}.")
        cases.append(Case.objects.for_owner(owner).get())
    return cases


def press(page: Page, key: str) -> None:
    """Press a key that leads to another page, once the script of this one is there."""
    page.wait_for_load_state()
    with page.expect_navigation():
        page.keyboard.press(key)


def decide_by_keys(page: Page, key: str, reason: str) -> None:
    """Choose a decision, type its reason, and send it; the next case follows."""
    page.wait_for_load_state()
    page.keyboard.press(key)
    page.keyboard.type(reason)
    press(page, "Control+Enter")


def test_ten_cases_by_keyboard_alone(administrator: User, open_as: OPENER) -> None:
    cases = make_cases(10)
    decide(administrator, cases[9].pk, "hide", reason="It was reported.")
    notice = cases[9].notices.get(decision="hide", is_about_report=False)
    answer(cases[9].owner, notice.pk, "It is a quotation.")
    page = open_as(administrator)
    page.goto(QUEUE)

    for number, key in enumerate("dhhsb"):  # dismiss, hide, the flagged one, suspend, ban
        if number == 2:
            page.wait_for_load_state()
            page.keyboard.press("o")
            page.keyboard.type("It was flagged for weapons.")
            press(page, "Control+Enter")
            expect(page.locator("mark").first).to_have_text("knife")
        else:
            press(page, "o")
        expect(page.get_by_text(f"Text number {number}, with a")).to_be_visible()
        decide_by_keys(page, key, f"Reason number {number}.")
    # The sixth is dismissed by mistake, undone and hidden.
    decide_by_keys(page, "d", "By mistake.")
    press(page, "u")
    expect(page.get_by_text("Undone: 1.")).to_be_visible()
    decide_by_keys(page, "h", "Reason number 5.")
    # The seventh gets a note and is claimed; then the next one is seen, and the seventh again.
    page.wait_for_load_state()
    page.keyboard.press("n")
    page.keyboard.type("Ask Olga about this one.")
    press(page, "Control+Enter")
    press(page, "c")
    expect(page.get_by_role("button", name="Release")).to_be_visible()
    press(page, "j")
    expect(page.get_by_text("Note number 7.")).to_be_visible()
    press(page, "k")
    expect(page.get_by_text("Ask Olga about this one.")).to_be_visible()
    # The seventh, eighth and ninth at once; the tenth has an answer that waits.
    for leads_on in ("j", "j", None):
        page.wait_for_load_state()
        page.keyboard.press("x")
        if leads_on:
            press(page, leads_on)
    page.keyboard.press("g")
    page.keyboard.type("All the same.")
    page.keyboard.press("Tab")  # claim
    page.keyboard.press("Tab")  # release
    page.keyboard.press("Tab")  # dismiss
    press(page, "Enter")
    expect(page.get_by_text("Done: 3.")).to_be_visible()
    expect(page.get_by_text("It is a quotation.")).to_be_visible()
    page.wait_for_load_state()
    page.keyboard.press("?")
    expect(page.get_by_role("dialog")).to_contain_text("Undo the last decision")
    page.keyboard.press("Escape")
    page.keyboard.press("r")
    page.keyboard.type("It stays hidden.")
    page.keyboard.press("Tab")  # leave it as it is
    press(page, "Enter")
    expect(page.get_by_text("Nothing waits")).to_be_visible()

    decisions = [Case.objects.for_owner(case.owner_id).get().decision for case in cases]
    assert decisions == ["dismiss", "hide", "hide", "suspend", "ban", "hide", *["dismiss"] * 3, "hide"]
    verbs = set(Action.objects.values_list("verb", flat=True))
    assert {"look", "note", "claim", "undo dismiss", "uphold", "suspend", "ban"} <= verbs


def test_letters_in_a_field_are_text(administrator: User, open_as: OPENER) -> None:
    make_cases(2)
    page = open_as(administrator)
    page.goto(QUEUE)
    page.wait_for_load_state()
    page.keyboard.press("d")
    page.keyboard.type("dhsbjkxucno?")
    expect(page.get_by_label("Reason", exact=True)).to_have_value("dhsbjkxucno?")
    expect(page.get_by_label("Dismiss")).to_be_checked()
    assert page.url.endswith(QUEUE)


@pytest.mark.parametrize("both", [False, further(True)], ids=["one way", "both ways"])
def test_the_pages_of_moderators_have_no_violation(both: bool, administrator: User, open_as: OPENER) -> None:
    """The gate looks at every other page the one way, at those between the other way."""
    if not AXE.exists():
        missing("axe-core is not installed (npm ci).")
    cases = make_cases(4)
    moderator = make_staff("mod@example.com", MODERATORS)
    for case in cases[:3]:
        look_at_case(administrator, case.pk, "It was flagged for weapons.")
    decide(administrator, cases[1].pk, "hide", reason="It was reported.")
    page = open_as(administrator)
    page.add_init_script(path=AXE)
    pages = [
        QUEUE,
        f"{QUEUE}?queue=answered",
        f"{QUEUE}dashboard/",
        "/admin/moderation/action/",
        "/admin/installation/",
        "/admin/",
        "/settings/tokens/",
    ]
    pages += [f"{QUEUE}{case.pk}/change/" for case in cases]
    ways = [WAYS] if both else [WAYS[:1], WAYS[1:]]
    found = []
    for number, way in enumerate(ways):
        found += [what for path in pages[number :: len(ways)] for what in violations_on(page, path, way)]
    look_at_case(moderator, cases[3].pk)
    found += violations_on(page, f"{QUEUE}{cases[3].pk}/change/")
    assert found == []


def test_the_page_of_the_api_has_no_violation_once_it_is_drawn(administrator: User, open_as: OPENER) -> None:
    if not AXE.exists():
        missing("axe-core is not installed (npm ci).")
    page = open_as(administrator)
    page.add_init_script(path=AXE)
    page.goto("/api/docs/")
    found = []
    for size, scheme in WAYS:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        page.wait_for_function(
            "(dark) => document.documentElement.matches('.dark-mode') === dark", arg=scheme == "dark"
        )
        expect(page.locator(".opblock").nth(1)).to_be_visible()
        expect(page.locator("section.models > h4")).to_be_attached()
        found += [f"{scheme}: {what}" for what in page.evaluate(CHECK, EVERYTHING)]
    assert found == []
