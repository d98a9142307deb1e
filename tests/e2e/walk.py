"""Walk over pages: their paths, and what is wrong with one at a desk in light colours and on a phone in dark ones."""

from collections.abc import Iterable, Iterator
from typing import Any

from django.conf import settings
from django.test import Client
from django.urls import get_resolver
from playwright.sync_api import Page, ViewportSize
from pytest_django.live_server_helper import LiveServer

from config.env import ROOT
from tests.conftest import missing
from tests.contract.test_owner_scope import routes, url_of

AXE = ROOT / "node_modules" / "axe-core" / "axe.min.js"
# Routes of programs, another project's pages, and those whose address has a key from a mail.
NO_PAGES = ("api/", "v1/", "admin/", "static/", "accounts/^")
DESK: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
# Little depends on both the width and the colour scheme.
PASSES = ((DESK, "light"), (PHONE, "dark"))
# Axe checks what can be seen: what is folded is unfolded, and colours change without a transition. What is wider than
# the window is looked for before, as a reader meets it.
CHECK = """async () => {
    const still = new CSSStyleSheet();
    still.replaceSync("*, *::before, *::after { transition: none !important; }");
    document.adoptedStyleSheets = [still];
    const wide = document.documentElement.scrollWidth > innerWidth ? ["wider than the window"] : [];
    const cut = [...document.querySelectorAll(".book-tabs [aria-current]")].filter((tab) => {
      const { left, right } = tab.getBoundingClientRect();
      return left < 0 || right > innerWidth;
    }).map(() => "the current tab is out of sight");
    for (const folded of document.querySelectorAll("main details:not(.menu)")) folded.open = true;
    const rules = { type: "tag", values: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "best-practice"] };
    const { violations } = await axe.run({ runOnly: rules, resultTypes: ["violations"] });
    const found = violations.map(({ id, nodes }) => `${id}: ${nodes.map(({ html }) => html).join(" | ")}`);
    return [...wide, ...cut, ...found];
}"""


def sign_in(page: Page, live_server: LiveServer, client: Client) -> None:
    """Have the page sign in as the client is."""
    session = client.cookies[settings.SESSION_COOKIE_NAME].value
    page.context.add_cookies([{"name": settings.SESSION_COOKIE_NAME, "value": session, "url": live_server.url}])


def prepare(page: Page) -> None:
    """Have axe on each page that is opened from now on."""
    if not AXE.exists():
        missing("axe-core is not installed (npm ci).")
    page.add_init_script(path=AXE)


def pages_of(client: Client, ids: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Yield path and text of each page that the client gets, of the routes that need none but these ids."""
    for route in sorted(set(routes(get_resolver()))):
        if route.startswith(NO_PAGES):
            continue
        try:
            path = url_of(route, ids)
        except KeyError:
            continue
        reply = client.get(path)
        if reply.status_code == 200 and not reply.streaming and b"</html>" in reply.content:
            yield path, reply.text


def troubles_on(page: Page, paths: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with pages, with the width and the colour scheme."""
    for path in paths:
        page.goto(path)
        for size, scheme in PASSES:
            page.set_viewport_size(size)
            page.emulate_media(color_scheme=scheme)
            for trouble in page.evaluate(CHECK):
                yield f"{path} {size['width']} {scheme}: {trouble}"
