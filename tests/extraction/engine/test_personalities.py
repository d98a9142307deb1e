"""Servers that misbehave, and workers that are killed at every step: nothing is lost, nothing twice, nothing untrue."""

import datetime as dt
from collections import Counter
from dataclasses import dataclass
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import add_participant, append_messages, create_chat
from apps.common import jobs
from apps.common.jobs import transitions
from apps.extraction.models import ExtractionProgress, ExtractionRun, ModelCall, RunStep
from apps.extraction.progress import refused_messages
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.extraction.settings.stores import change_settings
from apps.extraction.steps import recording
from apps.memories.models import Memory
from tests.extraction.engine import storyteller
from tests.extraction.engine.layers import told
from tests.extraction.engine.story import STORY, tell
from tests.factories import UserFactory, make_character, parsed
from tests.lanes import further
from tests.llm.personalities import PERSONALITIES
from tests.llm.scripted_server import ScriptedServer

MAX_ROUNDS = 60
TIERS = ["summary", "scenes", "epistemic", "session", "long_term", "arcs", "ledger"]
SETTINGS = {"chunk": 8, "new_per_kind": 20, "consolidate_session": 100} | {
    f"consolidate_{kind}": 100 for kind in ("fact", "relationship", "preference", "event")
}


class WorkerKilled(BaseException):
    """The process is gone. No handler of the code under test may see it."""


def solo(owner: User) -> Chat:
    return tell(owner, *STORY)


def group(owner: User) -> Chat:
    chat = create_chat(owner, title="Three", user_name="Alice")
    for name in ("Mira", "Tom", "Bob"):
        add_participant(owner, chat.pk, name=name, character=make_character(owner, name))
    heard = [None, ["Mira", "Tom"], None, ["Bob"]]
    for number, text in enumerate(STORY):
        names = heard[number % len(heard)]
        extra = {"loci": {"witnesses": names}} if names else {}
        append_messages(owner, chat.pk, [parsed(text, name=("Mira", "Tom", "Bob")[number % 3], extra=extra)])
    append_messages(owner, chat.pk, [parsed("And so?", is_user=True, name="Alice")])
    return Chat.objects.for_owner(owner).get(pk=chat.pk)


# Every personality is met alone and in a group, with one reading and with separate ones. Of those that misbehave alike,
# the gate meets one, in one way: of half replies, refusals, waits, other forms and broken streams.
MET = ("cutter", "refuser", "rate limiter", "rambler", "breaker")
WAYS = [
    (personality, *way) if way[0] == "one" and personality in MET else further((personality, *way))
    for number, personality in enumerate(PERSONALITIES)
    for way in ([("one", solo), ("separate", group)] if number % 2 else [("one", group), ("separate", solo)])
]


def read_to_the_end(chat: Chat) -> list[ExtractionRun]:
    """Read the chat as workers, sweeps and a patient person would, until nothing is left to read."""
    taken: list[ExtractionRun] = []
    run = None
    for _ in range(MAX_ROUNDS):
        if run is None:
            run, _ = start_run(chat.owner_id, chat, tiers=TIERS, refused=True)
            taken.append(run)
        try:
            pipeline.execute(run.pk)
        except WorkerKilled:
            long_ago = timezone.now() - dt.timedelta(hours=1)
            ExtractionRun.objects.for_owner(chat.owner_id).filter(pk=run.pk).update(heartbeat_at=long_ago)
        run.refresh_from_db()
        check_truth(chat)
        if run.state == "queued":
            assert run.is_waiting
            assert (run.waits_for, bool(run.error)) == ("server", True)
            jobs.resume(run)
        elif run.state == "succeeded" and not refused_messages(chat):
            return taken
        elif run.state != "running":
            assert (run.state, run.error) == ("succeeded", "")
            run = None
    raise AssertionError("it was not read to the end")


def check_truth(chat: Chat) -> None:
    """No message counts as read for a tier if no usable reply about it was stored."""
    read = ExtractionProgress.objects.for_owner(chat.owner_id).filter(chat=chat, tiers__contains=["session"])
    if read:
        answered = ModelCall.objects.for_owner(chat.owner_id).filter(run__chat=chat, error="")
        assert answered.filter(task__in=("session", "reading")).exists()
    repeated = [text for text, count in Counter(active(chat)).items() if count > 1]
    assert repeated == []


def active(chat: Chat) -> list[tuple[str, str, str]]:
    rows = Memory.objects.for_owner(chat.owner_id).filter(chat=chat, state="active").select_related("character")
    return [(row.tier, row.character.name if row.character else "", row.text) for row in rows]


def essence(chat: Chat) -> list[Any]:
    """What is remembered, without what the number of tries may change."""
    return sorted(active(chat)) + [
        row for row in told(chat) if row[0] in ("ledger", "arc", "relationship", "knowledge")
    ]


@dataclass(frozen=True)
class Remembered:
    """What is remembered of a chat."""

    active: frozenset[tuple[str, str, str]]
    arcs: list[str]
    essence: list[Any]


def remembered(chat: Chat) -> Remembered:
    arcs = [row[1] for row in told(chat) if row[0] == "arc"]
    return Remembered(frozenset(active(chat)), arcs, essence(chat))


_expected: dict[tuple[str, Any], Remembered] = {}


def with_an_obedient_model(cast: Any, reading: str, connect: Any) -> Remembered:
    """Return what is remembered where nothing goes wrong, told once for all tests."""
    if (reading, cast) not in _expected:
        chat = cast(owner_with(connect, reading))
        read_to_the_end(chat)
        _expected[reading, cast] = remembered(chat)
    return _expected[reading, cast]


def check_equal(personality: str, chat: Chat, expected: Remembered) -> None:
    """Compare what is remembered with what an obedient model's chat remembers.

    What is refused is read later, after what follows it, and a refused question leaves both of two memories.
    """
    found = remembered(chat)
    if personality == "refuser":
        assert expected.active <= found.active
        assert expected.arcs == found.arcs
    else:
        assert found.essence == expected.essence


def owner_with(connect: Any, reading: str) -> User:
    owner: User = UserFactory()
    connect(owner)
    change_settings(owner, SETTINGS | {"reading": reading, "scene_check": "rules"})
    return owner


@pytest.mark.django_db
@pytest.mark.parametrize(("personality", "reading", "cast"), WAYS)
def test_a_server_that_misbehaves_costs_patience_and_no_memory(
    personality: str, cast: Any, reading: str, server: ScriptedServer, connect: Any
) -> None:
    expected = with_an_obedient_model(cast, reading, connect)
    server.reply_to(lambda request: request.kind == "generation", PERSONALITIES[personality](storyteller.answer))
    chat = cast(owner_with(connect, reading))
    read_to_the_end(chat)
    check_equal(personality, chat, expected)
    assert not any("cheese" in text for *_, text in active(chat))


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("personality", "reading", "cast"),
    [
        ("sleeper", "one", solo),
        further(("sleeper", "separate", group)),
        further(("refuser", "one", group)),
        further(("refuser", "separate", solo)),
        further(("rate limiter", "one", group)),
    ],
)
def test_workers_killed_at_every_step_pay_for_no_stored_reply_twice(
    personality: str, cast: Any, reading: str, server: ScriptedServer, connect: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = with_an_obedient_model(cast, reading, connect)
    server.reply_to(lambda request: request.kind == "generation", PERSONALITIES[personality](storyteller.answer))
    store_reply, finish_step = recording.record_call, recording.finish_step
    deaths: set[str] = set()

    def die_once(name: str) -> None:
        if name not in deaths:
            deaths.add(name)
            raise WorkerKilled

    def record_call(run: ExtractionRun, call: ModelCall) -> None:
        store_reply(run, call)
        die_once(f"reply {call.key} {call.error}")

    def finish(run: ExtractionRun, result: RunStep) -> None:
        finish_step(run, result)
        die_once(f"step {result.stage} {result.window}")  # before the commit, which is lost

    monkeypatch.setattr(recording, "record_call", record_call)
    monkeypatch.setattr(recording, "finish_step", finish)
    monkeypatch.setattr(transitions, "MAX_CLAIMS", 1000)
    monkeypatch.setattr(f"{__name__}.MAX_ROUNDS", 400)
    chat = cast(owner_with(connect, reading))
    read_to_the_end(chat)
    assert len(deaths) > 5
    check_equal(personality, chat, expected)
    usable = ModelCall.objects.for_owner(chat.owner_id).filter(run__chat=chat, error="")
    assert [key for key, count in Counter(usable.values_list("key", flat=True)).items() if count > 1] == []
