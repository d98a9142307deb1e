"""Every page passes axe-core: light at a desk or dark on a phone, of a filled, an empty and no account.

The gate leaves out pages whose every element, as to its name, classes and attributes that matter here, is on another
page at which it looks; what loses a label thereby becomes another element. Of the rest it looks at every other page
the one way, at those between the other way. Exploring looks at all pages both ways.
"""

import contextlib
from collections.abc import Iterator, Sequence
from html.parser import HTMLParser
from typing import Any, Literal

import pytest
from django.conf import settings
from django.test import Client
from django.urls import get_resolver
from playwright.sync_api import Page, ViewportSize
from pytest_django.live_server_helper import LiveServer

from apps.accounts.models import User
from apps.chats.operations import add_participant
from apps.extraction.prompts.task import TASKS
from apps.llm.operations import create_connection, use_for
from apps.replies.models import Generation
from apps.replies.presets import create_preset
from config.env import ROOT
from tests.conftest import missing
from tests.contract.test_owner_scope import routes, things_of_alice, url_of
from tests.factories import make_character, make_chat

pytestmark = [pytest.mark.e2e, pytest.mark.django_db(transaction=True)]

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
# Routes of programs, another project's pages, and those whose address has a key from a mail.
NO_PAGES = ("api/", "v1/", "admin/", "static/", "accounts/^", "oauth/", ".well-known/")
DESK: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
EVERYTHING = {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"]}
# Little depends on both the width and the colour scheme.
Way = tuple[ViewportSize, Literal["light", "dark"]]
WAYS: Sequence[Way] = ((DESK, "light"), (PHONE, "dark"))
ACCOUNTS = ("filled", "empty", "none")
# Axe checks what can be seen: what is folded is unfolded, and colours change without a transition.
CHECK = """async (rules) => {
    const still = new CSSStyleSheet();
    still.replaceSync("*, *::before, *::after { transition: none !important; }");
    document.adoptedStyleSheets = [still];
    for (const folded of document.querySelectorAll("main details:not(.menu)")) folded.open = true;
    const { violations } = await axe.run({ runOnly: rules, resultTypes: ["violations"] });
    return violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
}"""
Element = tuple[str, ...]
TELLING = {"alt", "for", "hidden", "href", "id", "lang", "placeholder", "src", "tabindex", "title"}


@pytest.mark.parametrize("both", [False, pytest.param(True, marks=pytest.mark.explore)], ids=["one way", "both ways"])
def test_no_page_has_a_violation(both: bool, page: Page, live_server: LiveServer) -> None:
    if not AXE.exists():
        missing("axe-core is not installed (npm ci).")
    page.add_init_script(path=AXE)
    ways = [WAYS] if both else [WAYS[:1], WAYS[1:]]
    seen: set[Element] = set()
    found: list[str] = []
    for account in ACCOUNTS:
        client, ids = Client(), things_of_alice() if account == "filled" else {}
        page.context.clear_cookies()
        if account != "none":
            client.force_login(ids["user"] if ids else User.objects.create_user("newcomer@example.com"))
            session = client.cookies[settings.SESSION_COOKIE_NAME].value
            page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])
        pages = dict(pages_of(client, {"task": next(iter(TASKS)), **ids}))
        paths = [*(pages if both else unlike_pages(pages, seen)), "/no-such-page/"]
        if ids:
            paths.append(failed_replies(ids["user"]))
        print(f"{len(paths)} of {len(pages)} pages of the account that is {account}")
        # One way after the other: another size or scheme has the browser compute all styles anew.
        for number, way in enumerate(ways):
            found += [what for path in paths[number :: len(ways)] for what in violations_on(page, path, way)]
    assert found == []


def paths_of(ids: dict[str, Any]) -> Iterator[str]:
    """Yield the path of each route of pages that needs none but these ids; some answer with no page."""
    for route in sorted(set(routes(get_resolver()))):
        if not route.startswith(NO_PAGES):
            with contextlib.suppress(KeyError):
                yield url_of(route, ids)


def pages_of(client: Client, ids: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield the path and the text of each page that the client gets, of the routes that need none but these ids."""
    for path in paths_of(ids):
        reply = client.get(path)
        if reply.status_code == 200 and not reply.streaming and b"</html>" in reply.content:
            yield path, reply.content.decode()


class Elements(HTMLParser):
    """Collects the kinds of elements of a page."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.kinds: set[Element] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Add the element's name, which attributes it has, and the words of those that say what it is."""
        names = sorted(name for name, _ in attrs if name in TELLING or name.startswith("aria-"))
        telling = (value or "" for name, value in attrs if name in ("class", "role", "type"))
        self.kinds.add((tag, *names, *telling))


def unlike_pages(pages: dict[str, str], seen: set[Element] | None = None) -> list[str]:
    """Return paths of pages that have all kinds of elements between them, but those seen, to which theirs are added."""
    seen = set() if seen is None else seen
    kinds = {path: Elements(text).kinds for path, text in pages.items()}
    chosen: list[str] = []
    while new := max(kinds.values(), key=lambda found: len(found - seen), default=set()) - seen:
        path = next(path for path, found in kinds.items() if found >= new)
        seen |= kinds.pop(path)
        chosen.append(path)
    return chosen


def failed_replies(owner: User) -> str:
    """Return the path of the replies of a group whose last one failed, with a choice of speakers and presets."""
    chat = make_chat(owner, "Where is the key?")
    for name in ("Salt", "Tam"):
        add_participant(owner, chat.pk, name=name, character=make_character(owner, name=name))
        create_preset(owner, name=name)
    use_for(create_connection(owner, name="theirs", base_url="http://127.0.0.1:9/v1", model="m"), generation=True)
    Generation.objects.create(owner_id=owner.pk, chat=chat, state="failed", error="The server refuses the key.")
    return f"/chats/{chat.pk}/replies/"


def violations_on(page: Page, path: str, ways: Sequence[Way] = WAYS) -> list[str]:
    """Return what axe finds on a page, with the width and the colour scheme."""
    found = []
    page.goto(path)
    for size, scheme in ways:
        page.set_viewport_size(size)
        page.emulate_media(color_scheme=scheme)
        found += [f"{path} {size['width']} {scheme}: {what}" for what in page.evaluate(CHECK, EVERYTHING)]
    return found
