"""What holds for every page: the browser keeps it apart from its parts, and its own policy forbids nothing in it."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client
from django.urls import get_resolver

from tests.contract.test_owner_scope import routes, things_of_alice, url_of
from tests.e2e.test_accessibility import NO_PAGES

PART = {"HX-Request": "true"}
DATA = re.compile(r'<script[^>]*type="application/json".*?</script>', re.DOTALL)
INLINE = re.compile(r"<style|<[^>]+\sstyle=|<[^>]+\son\w+=|<script(?![^>]*\ssrc=)", re.IGNORECASE)


@pytest.fixture
def ids(db: None) -> dict[str, Any]:
    return things_of_alice()


@pytest.fixture
def client(ids: dict[str, Any]) -> Client:
    client = Client()
    client.force_login(ids["user"])
    return client


def paths(ids: dict[str, Any]) -> Iterator[str]:
    """Yield the address of each route of a page, if there is something at it."""
    for route in ("api/docs/", *sorted(set(routes(get_resolver())))):
        if not route.startswith(NO_PAGES) or route == "api/docs/":
            try:
                yield url_of(route, ids)
            except KeyError:
                continue


def is_html(reply: Any) -> bool:
    return not reply.streaming and reply.headers.get("Content-Type", "").startswith("text/html")


def test_a_page_and_its_parts_are_kept_apart(client: Client, ids: dict[str, Any]) -> None:
    """Else the browser's back button shows the part where the page was."""
    answering_both = []
    for path in paths(ids):
        page, part = client.get(path), client.get(path, headers=PART)
        for reply in filter(is_html, (page, part)):
            assert "HX-Request" in reply.get("Vary", ""), path
            assert re.search("no-cache|no-store", reply.get("Cache-Control", "")), path
        if is_html(page) and is_html(part) and b"</html>" in page.content and b"</html>" not in part.content:
            answering_both.append(path)
            assert "no-store" in part["Cache-Control"], path
    assert len(answering_both) > 10, answering_both


def test_no_page_has_a_style_or_a_script_inside_it(client: Client, ids: dict[str, Any]) -> None:
    """The policy of pages allows neither: the browser would ignore them."""
    pages = {path: reply for path in paths(ids) if is_html(reply := client.get(path)) and reply.status_code == 200}
    assert len(pages) > 50
    found = {path: INLINE.findall(DATA.sub("", reply.content.decode())) for path, reply in pages.items()}
    assert {path: parts for path, parts in found.items() if parts} == {}
