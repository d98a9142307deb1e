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


def test_pages_are_kept_apart_from_their_parts_and_have_no_style_or_script_inside(
    client: Client, ids: dict[str, Any]
) -> None:
    """Else the browser's back button shows the part where the page was, or it ignores what the policy forbids."""
    answering_both, inside = [], {}
    for path in paths(ids):
        page = client.get(path)
        if not is_html(page):
            continue
        part = client.get(path, headers=PART) if page.status_code == 200 else page
        for reply in filter(is_html, (page, part)):
            assert "HX-Request" in reply.get("Vary", ""), path
            assert re.search("no-cache|no-store", reply.get("Cache-Control", "")), path
        if page.status_code == 200:
            inside[path] = INLINE.findall(DATA.sub("", page.content.decode()))
        if is_html(part) and b"</html>" in page.content and b"</html>" not in part.content:
            answering_both.append(path)
            assert "no-store" in part["Cache-Control"], path
    assert len(answering_both) > 10, answering_both
    assert len(inside) > 50
    assert {path: found for path, found in inside.items() if found} == {}
