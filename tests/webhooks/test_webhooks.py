"""Webhooks are told of what happens in an account: signed, in order, and again if the receiver fails."""

import base64
import hashlib
import hmac
import json
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone
from rest_framework.test import APIClient

from apps.common import leases
from apps.common.models import Lease
from apps.moderation.operations.decisions import decide, reverse
from apps.moderation.operations.reports import report
from apps.moderation.roles import MODERATORS
from apps.moderation.targets import find_target
from apps.sync.live import CHANNEL
from apps.webhooks import delivering
from apps.webhooks.delivering import BATCH, deliver_due, lease_of_deliveries
from apps.webhooks.models import Delivery, Webhook
from apps.webhooks.tasks import deliver, sweep_deliveries
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_character, make_chat, make_memory
from tests.moderation.conftest import make_staff
from tests.queues import drain
from tests.servers import serving

pytestmark = pytest.mark.django_db(transaction=True)

ALL = ["memory.added", "memory.changed", "run.ended", "recall.made"]


class Receiver:
    """A server that keeps what it is told, and replies with the next status of ``statuses``, else with 204."""

    def __init__(self) -> None:
        self.calls: list[tuple[dict[str, str], bytes]] = []
        self.statuses: list[int] = []
        self.goes_on = Event()
        self.goes_on.set()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.goes_on.wait(9)
                receiver.calls.append(({name.lower(): value for name, value in self.headers.items()}, body))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 204)
                self.end_headers()

            def log_message(self, *args: Any) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/told"

    @property
    def documents(self) -> list[dict[str, Any]]:
        return [json.loads(body) for _, body in self.calls]


@pytest.fixture
def receiver(settings: Any) -> Iterator[Receiver]:
    settings.LLM_ALLOWED_ADDRESSES = ["private"]
    made = Receiver()
    with serving(made.server):
        yield made


@pytest.fixture
def api() -> APIClient:
    return client_of(UserFactory())


def add_webhook(api: APIClient, url: str, events: list[str]) -> dict[str, Any]:
    response = api.post("/api/v1/webhooks/", {"url": url, "events": events}, format="json")
    assert response.status_code == 201, response.data
    return dict(response.data)


def remember(api: APIClient, text: str) -> Any:
    character = make_character(api.user, "Mira")
    body = {"text": text, "tier": "long_term", "kind": "fact", "character": str(character.pk)}
    response = api.post("/api/v1/memories/", body, format="json")
    assert response.status_code == 201, response.data
    return response.data


def test_what_happens_is_told_once_and_signed(api: APIClient, receiver: Receiver) -> None:
    hook = add_webhook(api, receiver.url, ALL)
    memory = remember(api, "Mira hid the key.")
    drain("models")
    api.patch(f"/api/v1/memories/{memory['id']}/", {"text": "Mira hid the silver key."}, format="json")
    api.patch(f"/api/v1/memories/{memory['id']}/", {"importance": 3}, format="json")
    drain("models")
    told = [(each["type"], each["data"]["memory"]) for each in receiver.documents]
    assert told[0] == ("memory.added", memory["id"])
    assert ("memory.changed", memory["id"]) in told[1:]
    assert "silver" not in str(receiver.calls)
    for headers, body in receiver.calls:
        signed = f"{headers['webhook-id']}.{headers['webhook-timestamp']}.".encode() + body
        digest = hmac.new(base64.b64decode(hook["secret"][6:]), signed, hashlib.sha256).digest()
        assert headers["webhook-signature"] == "v1," + base64.b64encode(digest).decode()
    listed = api.get(f"/api/v1/webhooks/{hook['id']}/deliveries/").data["results"]
    assert {(each["state"], each["status"]) for each in listed} == {("delivered", 204)}
    assert "secret" not in api.get(f"/api/v1/webhooks/{hook['id']}/").data


def test_two_webhooks_are_told_of_the_same_in_its_order(api: APIClient, receiver: Receiver) -> None:
    for name in ("one", "two"):
        add_webhook(api, f"{receiver.url}/{name}", ["memory.added"])
    memories = [remember(api, f"Fact {number}.")["id"] for number in range(3)]
    drain("models")
    assert len({headers["webhook-id"] for headers, _ in receiver.calls}) == 6
    for webhook in Webhook.objects.for_owner(api.user):
        told = Delivery.objects.for_owner(api.user).filter(webhook=webhook, state="delivered").order_by("id")
        assert [str(delivery.subject) for delivery in told] == memories


def test_runs_and_recalls_are_told(api: APIClient, receiver: Receiver) -> None:
    add_webhook(api, receiver.url, ["run.ended", "recall.made"])
    chat = make_chat(api.user, "I hid the key in the well.", "The well is deep.", "Where is it?")
    api.post(f"/api/v1/chats/{chat.pk}/extract/", {}, format="json")
    drain("interactive", "extraction")
    api.post(f"/api/v1/chats/{chat.pk}/prompt/", {"text": None}, format="json")
    drain("models")
    told = {each["type"]: each["data"] for each in receiver.documents}
    assert (told["run.ended"]["chat"], told["run.ended"]["state"]) == (str(chat.pk), "succeeded")
    assert told["recall.made"]["chat"] == str(chat.pk)


def test_a_receiver_that_fails_is_told_again_later(api: APIClient, receiver: Receiver) -> None:
    hook = add_webhook(api, receiver.url, ["memory.added"])
    receiver.statuses = [500]
    remember(api, "Mira hid the key.")
    drain("models")
    url = f"/api/v1/webhooks/{hook['id']}/deliveries/"
    (delivery,) = api.get(url).data["results"]
    assert (delivery["state"], delivery["attempts"], delivery["status"]) == ("pending", 1, 500)
    sweep_deliveries()
    drain("models")
    assert len(receiver.calls) == 1  # it is not due yet
    Delivery.objects.for_owner(api.user).update(due_at=timezone.now())
    sweep_deliveries()
    drain("models")
    assert len(receiver.calls) == 2
    assert api.get(url).data["results"][0]["state"] == "delivered"
    assert api.post(f"{url}{delivery['id']}/retry/").status_code == 200
    drain("models")
    assert len(receiver.calls) == 3


def test_a_receiver_that_wants_no_more_or_is_switched_off_is_not_called(api: APIClient, receiver: Receiver) -> None:
    hook = add_webhook(api, receiver.url, ["memory.added"])
    receiver.statuses = [410]
    remember(api, "Mira hid the key.")
    drain("models")
    assert api.get(f"/api/v1/webhooks/{hook['id']}/deliveries/").data["results"][0]["state"] == "failed"
    api.patch(f"/api/v1/webhooks/{hook['id']}/", {"active": False}, format="json")
    api.post("/api/v1/memories/", {"text": "Two.", "tier": "long_term", "kind": "fact"}, format="json")
    drain("models")
    assert len(receiver.calls) == 1


def test_a_worker_that_was_held_up_sends_and_stores_no_more(
    api: APIClient, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    add_webhook(api, receiver.url, ["memory.added"])
    remember(api, "Mira hid the key.")
    remember(api, "Mira lost the key.")
    webhook = Webhook.objects.for_owner(api.user).get()
    called: list[Any] = []

    def call(webhook: Webhook, delivery: Delivery) -> tuple[int, str]:
        called.append(delivery.pk)
        if len(called) > 1:
            assert not deliver_due(webhook), "one worker at a time"
            return 204, ""
        Lease.objects.update(ends=[timezone.now()])  # the call took longer than the lease
        deliver_due(webhook)
        return 500, "It came late."

    monkeypatch.setattr(delivering, "_call", call)
    assert not deliver_due(webhook)
    first, second = Delivery.objects.for_owner(api.user).order_by("id")
    assert called == [first.pk, first.pk, second.pk]
    assert [(one.state, one.status, one.error, one.attempts) for one in (first, second)] == [
        ("delivered", 204, "", 2),
        ("delivered", 204, "", 1),
    ]
    assert not leases.holders(lease_of_deliveries(webhook))


def test_slow_receivers_of_one_owner_take_no_worker_from_another(
    api: APIClient, settings: Any, receiver: Receiver
) -> None:
    settings.MODEL_PLACES_OF_OWNER = 2
    bob, bobs = client_of(UserFactory()), Receiver()
    for number in range(4):
        add_webhook(api, f"{receiver.url}/{number}", ["memory.added"])
    add_webhook(bob, bobs.url, ["memory.added"])
    remember(api, "Mira hid the key.")
    remember(bob, "Mira lost the key.")
    slow = Webhook.objects.for_owner(api.user).values_list("pk", flat=True)
    fast = Webhook.objects.for_owner(bob.user).get()

    def run(webhook_id: Any) -> None:
        try:
            deliver(webhook_id=str(webhook_id))
        finally:
            connection.close()

    receiver.goes_on.clear()
    with serving(bobs.server), ThreadPoolExecutor(3) as workers:
        try:
            for webhook_id in slow:
                workers.submit(run, webhook_id)
            workers.submit(run, fast.pk).result(5)
            assert (len(bobs.calls), len(receiver.calls)) == (1, 0)
        finally:
            receiver.goes_on.set()
    drain("models")
    assert len(receiver.calls) == 4, "those without a place come next"


def test_one_receiver_with_many_deliveries_due_does_not_keep_the_place_of_the_others(
    api: APIClient, receiver: Receiver
) -> None:
    for number in range(2):
        add_webhook(api, f"{receiver.url}/{number}", ["memory.added"])
    for number in range(BATCH + 1):
        remember(api, f"Mira hid key number {number}.")
    first, second = Webhook.objects.for_owner(api.user).order_by("pk")
    assert deliver_due(first) == second
    assert deliver_due(second) == first


def test_nobody_is_told_of_another_account(api: APIClient, receiver: Receiver) -> None:
    add_webhook(client_of(UserFactory()), receiver.url, ALL)
    remember(api, "Mira hid the key.")
    drain("models")
    assert receiver.calls == []


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"url": "ftp://example.com", "events": ALL}, "/url"),
        ({"url": "http://127.0.0.1/", "events": ALL}, "/url"),
        ({"url": "https://example.com/", "events": []}, "/events"),
        ({"url": "https://example.com/", "events": ["memory.lost"]}, "/events/0"),
        ({"events": ALL}, "/url"),
    ],
)
def test_a_webhook_that_can_not_be_called_is_refused(
    api: APIClient, settings: Any, body: dict[str, Any], pointer: str
) -> None:
    settings.LLM_ALLOWED_ADDRESSES = []
    response = api.post("/api/v1/webhooks/", body, format="json")
    assert (response.status_code, response.data["errors"][0]["pointer"]) == (400, pointer)
    assert not Webhook.objects.for_owner(api.user).exists()


def test_all_that_is_wrong_with_a_webhook_is_told_at_once(api: APIClient, settings: Any) -> None:
    settings.LLM_ALLOWED_ADDRESSES = []
    body = {"url": "http://169.254.169.254/latest/", "events": ["memory.lost"], "active": "yes"}
    errors = api.post("/api/v1/webhooks/", body, format="json").data["errors"]
    assert [error["pointer"] for error in errors] == ["/url", "/events/0", "/active"]
    assert errors[0]["detail"] == "169.254.169.254 is not a public address, and is never allowed."


def told_to_streams(work: Callable[[], Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return the events that streams of the account are told of while something is done."""
    with connection.cursor() as cursor:
        cursor.execute(f"LISTEN {CHANNEL}")
    work()
    heard = [json.loads(one.payload) for one in connection.connection.notifies(timeout=0.5)]
    return [(one["event"], one["data"]) for one in heard if one["event"] in ("memory", "recall")]


def test_streams_are_told_of_memories_once_a_transaction(api: APIClient) -> None:
    chat = make_chat(api.user, "Hello.", character=make_character(api.user, "Mira"))

    def write() -> None:
        with transaction.atomic():
            for number in range(3):
                make_memory(chat, f"Fact {number}.")

    assert told_to_streams(write) == [("memory", {"event": "memory.added", "chat": str(chat.pk)})]


def test_what_moderators_hide_and_show_is_a_change(api: APIClient, receiver: Receiver) -> None:
    memory = make_memory(make_chat(api.user, "Hello."), "A fact.")
    case = report(api.user, find_target(api.user, "memory", memory.pk), reason="other").case
    moderator = make_staff("moderator@example.com", MODERATORS)
    add_webhook(api, receiver.url, ["memory.changed"])
    decide(moderator, case.pk, "hide", reason="It is against rule 3.")
    drain("models")
    reverse(moderator, case.pk, reason="It is not.")
    drain("models")
    assert [one["data"] for one in receiver.documents] == [{"memory": str(memory.pk)}] * 2
