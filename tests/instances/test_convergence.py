"""Instances that write offline and push late, repeatedly and in any order end with the same state, and lose nothing."""

import datetime as dt
import random
from collections import defaultdict
from dataclasses import dataclass, field
from typing import Any

import pytest
from django.db import transaction
from hypothesis import given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.common.database.ids import uuid7
from apps.instances.models import Conflict, Item, ItemVersion
from apps.instances.vector_clock import Order, compare, merge
from tests.contract.conftest import client_of
from tests.instances.conftest import NOW
from tests.properties import HISTORIES, WITH_DATABASE

START = dt.datetime.fromisoformat(NOW)
ACTIONS = (
    *("remember", "edit", "delete", "note", "day", "week", "event"),
    *("push", "push_some", "repeat", "pull", "correct", "forget"),
)
Key = tuple[str, ...]
WEEK: Key = ("weekly", "00000000-0000-7000-9000-000000000001", "2026-W47")


@dataclass
class Program:
    """An instance with its local copy: texts (None: deleted) and clocks by key, and the writes not yet pushed."""

    client: APIClient
    name: str
    counter: int = 0
    texts: dict[Key, str | None] = field(default_factory=dict)
    clocks: dict[Key, dict[str, int]] = field(default_factory=dict)
    pending: list[tuple[Key, str, dict[str, Any]]] = field(default_factory=list)
    sent: list[dict[str, Any]] = field(default_factory=list)
    since: dict[str, int] | None = None
    writes: list[tuple[Key, str | None, dict[str, int]]] = field(default_factory=list)

    def write(self, key: Key, text: str | None, at: dt.datetime) -> None:
        self.counter += 1
        self.texts[key] = text
        self.clocks[key] = merge(self.clocks.get(key, {}), {self.name: self.counter})
        self.writes.append((key, text, self.clocks[key]))
        stamp = {"clock": self.clocks[key], "instance": self.name}
        names: dict[str, Any] = {"category": key[1], "filename": key[2]} if key[0] == "identity" else {"id": key[1]}
        if text is None:
            kind = "identity" if key[0] == "identity" else "memory"
            self.pending.append((key, "tombstones", names | stamp | {"kind": kind, "at": at.isoformat()}))
        elif key[0] == "identity":
            self.pending.append((key, "identity", names | stamp | {"content": text, "updated_at": at.isoformat()}))
        else:
            names |= {"tier": key[0], "period": key[2] or None}
            self.pending.append((key, "memories", names | stamp | {"text": text, "updated_at": at.isoformat()}))

    def push(self, chosen: list[tuple[Key, str, dict[str, Any]]]) -> dict[str, Any]:
        body: dict[str, Any] = {"instance": self.name, "clock": {}, "identity": [], "memories": [], "tombstones": []}
        for _, part, document in chosen:
            body[part].append(document)
        reply = self.send(body)
        self.sent.append(body)
        self.pending = [each for each in self.pending if each not in chosen]
        return reply

    def send(self, body: dict[str, Any]) -> dict[str, Any]:
        reply = self.client.post("/api/v1/sync/push/", body)
        assert reply.status_code == 200, reply.content
        return reply.json()

    def pull(self, limit: int = 3) -> None:
        """Pull page by page, and keep what was written here and not yet pushed."""
        own = {key for key, _, _ in self.pending}
        cursor: str | None = "0"
        while cursor is not None:
            url = f"/api/v1/sync/pull/?limit={limit}&cursor={cursor}"
            reply = self.client.post(url, {"instance": self.name, "since": self.since})
            assert reply.status_code == 200, reply.content
            page = reply.json()
            for key, text, clock in read(page):
                if key not in own:
                    self.texts[key], self.clocks[key] = text, clock
            cursor, self.since = page["next"], page["clock"]


def read(page: dict[str, Any]) -> list[tuple[Key, str | None, dict[str, int]]]:
    found: list[tuple[Key, str | None, dict[str, int]]] = []
    for each in page["identity"]:
        found.append((("identity", each["category"], each["filename"]), each["content"], each["clock"]))
    for each in page["memories"]:
        found.append(((each["tier"], each["id"], each["period"] or ""), each["text"], each["clock"]))
    for each in page["tombstones"]:
        if each["kind"] == "identity":
            found.append((("identity", each["category"], each["filename"]), None, each["clock"]))
        else:
            found.extend((key, None, each["clock"]) for key in keys_of(each["id"]))
    return found


def keys_of(target: str) -> list[Key]:
    """A tombstone names no tier; each program here writes one day, and all of them one week."""
    periods = {"long_term": "", "daily": "2026-11-20", "significant": "2026-11-20", "weekly": "2026-W47"}
    return [(tier, target, period) for tier, period in periods.items()]


class World:
    def __init__(self, names: list[str], seed: int) -> None:
        self.user = User.objects.create_user("alice@example.com")
        self.api = client_of(self.user)
        self.random, self.written, self.count = random.Random(seed), set[str](), 0
        self.changed_in_loci = set[str]()
        self.programs = []
        for priority, name in enumerate(names):
            body = {"id": name, "priority": priority % 2}
            assert self.api.post("/api/v1/instances/", body).status_code == 201
            self.programs.append(Program(client_of(self.user, instance=name), name))

    def text(self) -> str:
        self.count += 1
        text = f"statement {self.count}"
        self.written.add(text)
        return text

    def do(self, program: Program, action: str) -> None:
        at = START + dt.timedelta(seconds=self.random.randrange(3))  # ties are frequent
        present = sorted(key for key, text in program.texts.items() if text is not None and key[0] != "daily")
        if action == "remember":
            program.write(("long_term", str(uuid7()), ""), self.text(), at)
        elif action == "event":
            program.write(("significant", str(uuid7()), "2026-11-20"), self.text(), at)
        elif action == "week":
            program.write(WEEK, self.text(), at)
        elif action == "note":
            program.write(("identity", "self", self.random.choice(("a.md", "b.md"))), self.text(), at)
        elif action == "day":
            self.write_day(program, at)
        elif action in ("edit", "delete") and present:
            program.write(self.random.choice(present), self.text() if action == "edit" else None, at)
        elif action == "push":
            program.push(list(program.pending))
        elif action == "push_some":  # a later write comes before an earlier one
            program.push(self.random.sample(program.pending, len(program.pending) // 2))
        elif action == "repeat" and program.sent:
            self.repeat(program)
        elif action == "pull":
            program.pull()
        elif action in ("correct", "forget"):
            self.change_in_loci(action)

    def write_day(self, program: Program, at: dt.datetime) -> None:
        key = next((key for key in program.texts if key[0] == "daily" and key[1] == day_id(program.name)), None)
        key = key or ("daily", day_id(program.name), "2026-11-20")
        before = program.texts.get(key)
        program.write(key, "\n".join([*([before] if before else []), f"- {self.text()}"]), at)

    def repeat(self, program: Program) -> None:
        """A repeated push changes nothing and reports nothing."""
        before = state_of(self.user)
        reply = program.send(self.random.choice(program.sent))
        assert (reply["applied"], reply["merged"], reply["conflicts"]) == (0, 0, [])
        assert state_of(self.user) == before

    def change_in_loci(self, action: str) -> None:
        memories = self.api.get("/api/v1/memories/").json()["results"]
        if memories:
            chosen = self.random.choice(memories)["id"]
            self.changed_in_loci.add(chosen)
            url = f"/api/v1/memories/{chosen}/"
            reply = self.api.patch(url, {"text": self.text()}) if action == "correct" else self.api.delete(url)
            assert reply.status_code in (200, 204)
            self.programs[0].pull()  # Loci itself keeps no text between two corrections

    def share(self) -> None:
        """Begin with two memories and a file that all know."""
        for action in ("remember", "remember", "note", "push"):
            self.do(self.programs[0], action)
        for program in self.programs:
            program.pull()

    def check_rules(self) -> None:
        """What only one program wrote ends as it wrote it last, and no deletion beats an edit that it had not seen."""
        final = self.programs[0].texts
        by_key: dict[Key, list[tuple[str, str | None, dict[str, int]]]] = defaultdict(list)
        for program in self.programs:
            for key, text, clock in program.writes:
                by_key[key].append((program.name, text, clock))
        for key, writes in by_key.items():
            if key[0] == "daily" or key[1] in self.changed_in_loci:
                continue
            if len({name for name, _, _ in writes}) == 1:
                assert final.get(key) == writes[-1][1]
            elif final.get(key) is None:
                others = [clock for _, _, clock in writes]
                for _, text, clock in writes:
                    assert text is None or any(compare(clock, other) == Order.BEFORE for other in others)

    def settle_down(self) -> None:
        for program in self.programs:
            program.push(list(program.pending))
        for program in self.programs:
            program.pull()

    def traces(self) -> set[str]:
        """All that is still kept, line by line."""
        items = Item.objects.for_owner(self.user).values_list("text", flat=True)
        versions = ItemVersion.objects.for_owner(self.user).values_list("text", flat=True)
        conflicts = Conflict.objects.for_owner(self.user).values_list("ours", "theirs")
        texts = [*items, *versions, *(text for pair in conflicts for text in pair)]
        return {line.removeprefix("- ") for text in texts for line in text.splitlines()}


def day_id(name: str) -> str:
    return f"00000000-0000-7000-8000-{ord(name[0]):012d}"


def state_of(user: User) -> list[Any]:
    fields = "target", "category", "filename", "text", "clock", "version", "position", "deleted_at", "instance"
    items = list(Item.objects.for_owner(user).order_by("pk").values(*fields))
    return [items, Conflict.objects.for_owner(user).count(), ItemVersion.objects.for_owner(user).count()]


def present_texts(program: Program) -> dict[Key, str]:
    return {key: text for key, text in program.texts.items() if text is not None}


@pytest.mark.django_db
@settings(max_examples=WITH_DATABASE)
@given(
    size=st.integers(2, 5),
    steps=st.lists(st.tuples(st.integers(0, 4), st.sampled_from(ACTIONS)), min_size=4, max_size=40),
    seed=st.integers(0, 2**16),
)
def test_all_instances_converge_and_nothing_is_lost(size: int, steps: list[tuple[int, str]], seed: int) -> None:
    with transaction.atomic():
        world = World(["amber", "brick", "cloud", "delta", "ember"][:size], seed)
        world.share()
        for index, action in steps:
            world.do(world.programs[index % size], action)
        world.settle_down()
        world.check_rules()
        states = [present_texts(program) for program in world.programs]
        assert all(state == states[0] for state in states)
        assert world.written <= world.traces()
        transaction.set_rollback(True)


@pytest.mark.django_db
@settings(max_examples=HISTORIES)
@given(
    size=st.integers(2, 5),
    steps=st.lists(st.tuples(st.integers(0, 4), st.sampled_from(ACTIONS)), min_size=4, max_size=20),
    seed=st.integers(0, 2**16),
)
def test_histories_that_follow_each_other_never_conflict(size: int, steps: list[tuple[int, str]], seed: int) -> None:
    """Each pulls before it writes, and pushes at once."""
    with transaction.atomic():
        world = World(["amber", "brick", "cloud", "delta", "ember"][:size], seed)
        for index, action in steps:
            program = world.programs[index % size]
            program.pull()
            world.do(program, action)
            assert program.push(list(program.pending))["conflicts"] == []
        assert not Conflict.objects.for_owner(world.user).exists()
        transaction.set_rollback(True)
