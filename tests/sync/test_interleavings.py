"""Test random interleavings of writes by several clients, with lost replies and retries."""

import copy
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule, run_state_machine_as_test
from rest_framework.test import APIClient

from apps.accounts.models import User
from tests.contract.conftest import client_of
from tests.properties import HISTORIES

CLIENTS = 3

clients = st.integers(0, CLIENTS - 1)
places = st.integers(0, 30)
words = st.text("abcdé😀 ", max_size=6)
faults = st.sampled_from(["none", "none", "reply lost", "reply lost, key"])

Plan = list[dict[str, Any]]
Change = Callable[[Plan, int], None]


def content_of(document: dict[str, Any]) -> dict[str, Any]:
    """Return a message without index and times. Assert that its text and extra are those of its active swipe."""
    texts, infos, active = document["swipes"], document["swipe_info"], document["swipe_id"]
    swipes = [{"mes": mes, "extra": info["extra"]} for mes, info in zip(texts, infos, strict=True)]
    assert swipes[active] == {"mes": document["mes"], "extra": document["extra"]}
    same = {key: document[key] for key in ("id", "name", "is_user", "is_system")}
    return copy.deepcopy(same | {"swipe_id": active, "swipes": swipes})


class Replica:
    """The copy of the chat that one client keeps, updated only by the change feed."""

    def __init__(self, window: dict[str, Any], metadata: dict[str, Any]) -> None:
        self.messages = {document["id"]: document for document in window["results"]}
        self.order = list(self.messages)
        self.metadata = metadata
        self.integrity, self.rev = window["integrity"], window["rev"]

    def apply(self, changes: list[dict[str, Any]]) -> None:
        """Apply all entries as one set, as the protocol requires."""
        touched = {document["id"]: document for entry in changes for document in entry["messages"]}
        gone = {pk for entry in changes for pk in entry["deleted"]} | set(touched)
        self.order = [pk for pk in self.order if pk not in gone]
        for document in sorted(touched.values(), key=lambda document: document["index"]):
            self.order.insert(document["index"], document["id"])
        self.messages |= touched
        if changes:
            self.integrity, self.rev = changes[-1]["integrity"], changes[-1]["rev"]

    @property
    def plan(self) -> Plan:
        return [content_of(self.messages[pk]) for pk in self.order]


class Interleavings(RuleBasedStateMachine):
    """``plan`` is the expected chat after the accepted writes, ``past`` holds the earlier plans for undo."""

    api: APIClient

    @initialize()
    def begin(self) -> None:
        chat = self.api.post("/api/v1/chats/", {"title": "The heist"}).json()
        self.url = f"/api/v1/chats/{chat['id']}/"
        self.plan: Plan = []
        self.past: list[Plan] = []
        self.revs: set[int] = set()  # of the accepted writes
        self.numbers = 0
        self.replicas = [Replica(self.window(), {}) for _ in range(CLIENTS)]

    def window(self) -> dict[str, Any]:
        return self.api.get(f"{self.url}messages/?limit=200").json()

    # Sending

    def send(self, client: int, call: str, body: dict[str, Any], fault: str) -> dict[str, Any] | None:
        """Send a write. Return the reply, or None after a conflict, which updates the client's copy.

        Return None too if another client sent the same on the same state: without a key, this is a repetition of it.
        """
        replica = self.replicas[client]
        body = {"integrity": replica.integrity} | body
        self.numbers += 1
        headers = {"Idempotency-Key": f"{self.url}{self.numbers}"} if fault.endswith("key") else {}
        reply = self.api.post(f"{self.url}{call}/", body, headers=headers)
        if reply.status_code == 409:
            replica.apply(reply.json()["changes"])
            return None
        assert reply.status_code in (200, 201), reply.content
        if fault.startswith("reply lost"):
            again = self.api.post(f"{self.url}{call}/", body, headers=headers)
            assert again.status_code == reply.status_code, again.content
            assert again.json()["integrity"] == reply.json()["integrity"]
        return None if reply.json()["rev"] in self.revs else reply.json()

    def accepted(self, client: int, plan: Plan) -> None:
        """Record an accepted write, which led to ``plan``. Update the client's copy by the change feed."""
        self.past.append(self.plan)
        self.plan = plan
        replica = self.replicas[client]
        feed = self.api.get(f"{self.url}changes/?since={replica.rev}").json()
        replica.apply(feed["changes"])
        self.revs.add(feed["rev"])
        assert (replica.integrity, replica.rev) == (feed["integrity"], feed["rev"])
        assert replica.plan == self.plan

    def known(self, client: int, place: int) -> dict[str, Any] | None:
        """Return the message near ``place`` in the client's copy, or None."""
        replica = self.replicas[client]
        return replica.messages[replica.order[place % len(replica.order)]] if replica.order else None

    def patch(self, client: int, place: int, fault: str, change: Change, **parts: Any) -> None:
        """Send a patch to the message at ``place``. If it is accepted, apply ``change`` to the plan."""
        known = self.known(client, place)
        if known is None:
            return
        target = known["id"]
        reply = self.send(client, "patch", {"patches": [{"id": target} | parts]}, fault)
        if reply is None or not reply["applied"]:
            return
        plan = copy.deepcopy(self.plan)
        change(plan, next(n for n, message in enumerate(plan) if message["id"] == target))
        self.accepted(client, plan)

    # What clients do

    @rule(client=clients, texts=st.lists(words, min_size=1, max_size=3), fault=faults)
    def append(self, client: int, texts: list[str], fault: str) -> None:
        messages = [{"name": "Alice", "is_user": True, "mes": text} for text in texts]
        reply = self.send(client, "append", {"messages": messages}, fault)
        if reply is not None:
            ids = [place["id"] for place in reply["appended"]]
            added = [new_message(pk, text) for pk, text in zip(ids, texts, strict=True)]
            self.accepted(client, copy.deepcopy(self.plan) + added)

    @rule(client=clients, place=places, text=words, fault=faults)
    def edit(self, client: int, place: int, text: str, fault: str) -> None:
        self.patch(client, place, fault, lambda plan, n: active(plan[n]).update(mes=text), set={"mes": text})

    @rule(client=clients, place=places, at=st.integers(0, 6), delete=st.integers(0, 6), text=words, fault=faults)
    def splice(self, client: int, place: int, at: int, delete: int, text: str, fault: str) -> None:
        known = self.known(client, place)
        mes = known["mes"] if known else ""
        at = min(at, len(mes))
        delete = min(delete, len(mes) - at)
        spliced = mes[:at] + text + mes[at + delete :]
        self.patch(
            client,
            place,
            fault,
            lambda plan, n: active(plan[n]).update(mes=spliced),
            splice={"at": at, "delete": delete, "insert": text},
        )

    @rule(client=clients, place=places, value=st.one_of(st.none(), st.integers(0, 3)), fault=faults)
    def merge_extra(self, client: int, place: int, value: int | None, fault: str) -> None:
        def change(plan: Plan, n: int) -> None:
            extra = active(plan[n])["extra"]
            extra.pop("k", None)
            if value is not None:
                extra["k"] = value

        self.patch(client, place, fault, change, extra={"k": value})

    @rule(client=clients, place=places, text=words, fault=faults)
    def add_swipe(self, client: int, place: int, text: str, fault: str) -> None:
        def change(plan: Plan, n: int) -> None:
            plan[n]["swipes"].append({"mes": text, "extra": {}})
            plan[n]["swipe_id"] = len(plan[n]["swipes"]) - 1

        self.patch(client, place, fault, change, add_swipe={"mes": text})

    @rule(client=clients, place=places, swipe=places, fault=faults)
    def switch_swipe(self, client: int, place: int, swipe: int, fault: str) -> None:
        known = self.known(client, place)
        chosen = swipe % len(known["swipes"]) if known else 0
        self.patch(client, place, fault, lambda plan, n: plan[n].update(swipe_id=chosen), swipe_id=chosen)

    @rule(client=clients, place=places, swipe=places, fault=faults)
    def delete_swipe(self, client: int, place: int, swipe: int, fault: str) -> None:
        known = self.known(client, place)
        if known is None or len(known["swipes"]) == 1:
            return
        gone = swipe % len(known["swipes"])

        def change(plan: Plan, n: int) -> None:
            message = plan[n]
            del message["swipes"][gone]
            if gone < message["swipe_id"] or message["swipe_id"] == len(message["swipes"]):
                message["swipe_id"] -= 1

        self.patch(client, place, fault, change, delete_swipe=gone)

    @rule(client=clients, place=places, fault=faults)
    def delete(self, client: int, place: int, fault: str) -> None:
        self.patch(client, place, fault, lambda plan, n: plan.__delitem__(n), delete=True)

    @rule(client=clients, place=places, to=places, fault=faults)
    def move(self, client: int, place: int, to: int, fault: str) -> None:
        to %= max(1, len(self.replicas[client].order))
        self.patch(client, place, fault, lambda plan, n: plan.insert(to, plan.pop(n)), move_to=to)

    @rule(client=clients, place=places, text=words, fault=faults)
    def insert(self, client: int, place: int, text: str, fault: str) -> None:
        known = {message["id"] for message in self.plan}

        def change(plan: Plan, n: int) -> None:
            new = next(document["id"] for document in self.window()["results"] if document["id"] not in known)
            plan.insert(n, new_message(new, text))

        message = {"name": "Alice", "is_user": True, "mes": text}
        self.patch(client, place, fault, change, insert_before=message)

    @rule(client=clients, fault=faults)
    def undo(self, client: int, fault: str) -> None:
        if not self.past:
            reply = self.api.post(f"{self.url}undo/", {"integrity": self.window()["integrity"]})
            assert reply.json()["type"] == "/problems/nothing-to-undo"
        elif self.send(client, "undo", {}, fault) is not None:
            before = self.past.pop()
            self.accepted(client, before)
            self.past.pop()  # an undo is not undone

    @rule(place=places)
    def branch(self, place: int) -> None:
        """Branch the chat. The branch is a separate chat, and this one does not change."""
        if not self.plan:
            return
        at = place % len(self.plan)
        branch = self.api.post(f"{self.url}branch/", {"at": at}).json()
        copied = self.api.get(f"/api/v1/chats/{branch['id']}/messages/?limit=200").json()["results"]
        plan = [content_of(document) | {"id": None} for document in copied]
        assert plan == [message | {"id": None} for message in self.plan[: at + 1]]

    @rule(client=clients)
    def catch_up(self, client: int) -> None:
        replica = self.replicas[client]
        replica.apply(self.api.get(f"{self.url}changes/?since={replica.integrity}").json()["changes"])
        assert replica.plan == self.plan

    @invariant()
    def the_server_holds_what_was_accepted(self) -> None:
        if not hasattr(self, "plan"):
            return
        window = self.window()
        assert [document["index"] for document in window["results"]] == list(range(window["total"]))
        assert [content_of(document) for document in window["results"]] == self.plan

    def teardown(self) -> None:
        if hasattr(self, "replicas"):
            for client in range(CLIENTS):
                self.catch_up(client)


def new_message(pk: str, text: str) -> dict[str, Any]:
    same = {"id": pk, "name": "Alice", "is_user": True, "is_system": False}
    return same | {"swipe_id": 0, "swipes": [{"mes": text, "extra": {}}]}


def active(message: dict[str, Any]) -> dict[str, Any]:
    return message["swipes"][message["swipe_id"]]


@pytest.mark.interleaving
def test_any_interleaving_ends_with_what_was_accepted(db: None) -> None:
    Interleavings.api = client_of(User.objects.create_user("alice@example.com"))
    run_state_machine_as_test(
        Interleavings,
        settings=settings(
            max_examples=HISTORIES, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
        ),
    )
