"""Every route, as each kind of user: who may not, is told so, and the same everywhere."""

import datetime as dt
import re
from collections.abc import Iterator
from typing import Any
from uuid import uuid4

import pytest
from django.db import transaction
from django.test import Client
from django.urls import get_resolver
from django.utils import timezone

from apps.accounts.middleware.suspension import OPEN_VIEWS
from apps.accounts.models import ApiToken, User
from apps.accounts.operations import suspend
from apps.moderation.roles import MODERATORS
from tests.contract.conftest import client_of
from tests.contract.openapi import document
from tests.contract.test_owner_scope import methods_of, routes, routes_with_ids, things_of_alice, url_of
from tests.lanes import further
from tests.moderation.conftest import make_staff, signed_in

UNSAFE = ("post", "put", "patch", "delete")
METHODS = ("get", *UNSAFE)
# What everybody may open: entrance, health, the document of the API, what browsers and monitors ask for.
PUBLIC = re.compile(
    r"^(accounts/(login|signup|invitation|password/reset|confirm-email|2fa/(authenticate|webauthn/login)|logout|inactive|)"
    r"|healthz/|readyz/|metrics|api/(schema|docs)/|static/|manifest|theme/|admin/(login|jsi18n|logout)/"
    r"|\.well-known/|oauth/(token|revoke|register)|$)"
)
# POST requests that only read.
READS = ("api/v1/memories/search/", "api/v1/sync/pull/")
READS_OF_MEM0 = {f"mem0/{path}/" for path in ("v2/memories", "v3/memories")}
READS_OF_MEM0 |= {f"mem0/v{number}/memories/search/" for number in (1, 2, 3)}
API = ("api/", "mem0/")
OPEN_TO_SUSPENDED = (*READS, "api/v1/notices/", "api/v1/snapshots/", "accounts/")


@pytest.fixture
def things(db: None) -> dict[str, Any]:
    return things_of_alice()


@pytest.fixture
def found(things: dict[str, Any]) -> dict[str, str]:
    """The address of each route, with the ids of what is Alice's."""
    others = {"category": "self", "filename": "notes.md", "task": "scenes", "action": "pin"}
    others |= {"undo_id": uuid4(), "change_id": uuid4(), "object_id": things["user"].pk, "content_type_id": 1}
    others |= {"app_label": "chats", "case_id": uuid4(), "look_id": uuid4(), "id": uuid4(), "key": "x"}
    others |= {"kind": "user", "name": "ann"}
    ids = {**others, **things}
    addresses = {}
    for route in sorted(set(routes(get_resolver()))):
        # Asynchronous views, under v1/, are walked by the tests of the proxy: here a browser may have its event loop.
        if "^" in route or "(?P" in route or "logout" in route or route.startswith(("static/", "v1/")):
            continue
        try:
            addresses[route] = url_of(route.replace("<int:pk>", "1"), ids)
        except KeyError as missing:
            raise AssertionError(f"{route} has an id that is not among those above: {missing}") from missing
    return addresses


def statuses(
    client: Any, found: dict[str, str], methods: tuple[str, ...] = METHODS
) -> Iterator[tuple[str, str, int, Any]]:
    """Ask each route by those of the methods that it answers, and undo what that changed."""
    for route, address in found.items():
        for method in set(methods_of(address)) & set(methods):
            with transaction.atomic():
                reply = getattr(client, method)(address)
                transaction.set_rollback(True)
            yield route, method, reply.status_code, reply


def test_every_route_of_the_document_is_walked(found: dict[str, str]) -> None:
    described = {path.lstrip("/") for path in document()["paths"]}
    walked = {re.sub(r"<(?:\w+:)?(\w+)>", r"{\1}", route) for route in found}
    assert {path.replace("{id}", "{pk}") for path in described} <= walked
    print(f"{len(found)} routes are walked, {len(described)} of them of the document, by {len(METHODS)} methods")


def test_nobody_gets_in(found: dict[str, str]) -> None:
    wrong = []
    for route, method, status, reply in statuses(Client(), found):
        if PUBLIC.match(route):
            fine = status < 500 or (route, status) == ("readyz/", 503)  # no worker runs
        elif route.startswith(API):
            fine = status in (401, 405)
        else:
            fine = status in (403, 404, 405) or (status == 302 and "/login/" in reply["Location"])
        if not fine:
            wrong.append((method, route, status))
    assert wrong == []


def test_a_token_that_may_read_does_not_write(found: dict[str, str], things: dict[str, Any]) -> None:
    client = client_of(things["user"], scope=ApiToken.Scope.READ)
    api = {route: address for route, address in found.items() if route.startswith(("api/v1/", "mem0/"))}
    wrong = [
        (method, route, status)
        for route, method, status, _ in statuses(client, api)
        if (
            method in UNSAFE and status not in (403, 405) and not route.startswith(READS) and route not in READS_OF_MEM0
        )
        or (method == "get" and status in (401, 403))
    ]
    assert wrong == []


@pytest.mark.parametrize("methods", [UNSAFE, further((("get",),))], ids=["writes", "reads"])
def test_a_suspended_user_reads_and_does_not_write(
    methods: tuple[str, ...], found: dict[str, str], things: dict[str, Any]
) -> None:
    alice = things["user"]
    suspend(alice, until=timezone.now() + dt.timedelta(days=1), reason="Calm down.")
    api, page = client_of(alice), signed_in(alice)
    wrong = []
    # Streams give the test's own connection back.
    found = {route: address for route, address in found.items() if not re.search(r"events/|browser", route)}
    for prefix, client in (("api/", api), ("", page)):
        part = {route: address for route, address in found.items() if route.startswith(API) == bool(prefix)}
        for route, method, status, reply in statuses(client, part, methods):
            view = reply.resolver_match.view_name if reply.resolver_match else ""
            is_open = route.startswith(OPEN_TO_SUSPENDED) or view in OPEN_VIEWS or route in READS_OF_MEM0
            if method in UNSAFE and not is_open and status not in (403, 405):
                wrong.append((method, route, status))
            if method == "get" and status == 403 and not route.startswith(("admin/", "accounts/")):
                wrong.append((method, route, status))
    assert wrong == []


@pytest.mark.parametrize("in_admin_site", [False, further(True)])
def test_a_moderator_is_a_stranger_outside_of_the_admin_site(in_admin_site: bool, found: dict[str, str]) -> None:
    moderator = make_staff("mod@example.com", MODERATORS)
    wrong = []
    chosen = (lambda route: route.startswith("admin/")) if in_admin_site else routes_with_ids().__contains__
    mine = {route: found[route] for route in found if chosen(route)}
    for prefix, client in (("api/", client_of(moderator)), ("", signed_in(moderator))):
        part = {route: address for route, address in mine.items() if route.startswith(API) == bool(prefix)}
        for route, method, status, _ in statuses(client, part):
            if not route.startswith("admin/") and status not in (404, 405):
                wrong.append((method, route, status))
            if route.startswith("admin/") and status >= 500:
                wrong.append((method, route, status))
    assert wrong == []


ADMIN_PAGES = {
    "moderation/case/": 200,
    "moderation/action/": 200,
    "moderation/rule/": 200,
    "moderation/look/add/": 403,  # what a case is about is opened from the case
    "accounts/user/": 403,
    "chats/chat/": 403,
    "moderation/rule/add/": 403,
    "moderation/case/dashboard/": 403,
    "accounts/user/add/": 403,
    "accounts/apitoken/": 403,
    "accounts/invitation/": 403,
    "llm/usage/": 403,
    "extraction/extractionrun/": 403,
    "auth/group/": 403,
    "installation/": 403,
}


def test_the_admin_site_shows_a_moderator_what_the_role_allows(db: None) -> None:
    client = signed_in(make_staff("mod@example.com", MODERATORS))
    assert {page: client.get(f"/admin/{page}").status_code for page in ADMIN_PAGES} == ADMIN_PAGES
    user = User.objects.create_user("alice@example.com")
    change = f"/admin/accounts/user/{user.pk}/change/"
    assert client.get(change).status_code == 403
    assert client.post(change, {"email": "eve@example.com"}).status_code == 403
    assert client.get(f"/admin/accounts/user/{user.pk}/password/").status_code == 403
