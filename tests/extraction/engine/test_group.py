"""A group: each member is served once a window, and learns from what it witnessed, and from nothing else."""

from collections.abc import Mapping
from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import add_participant, append_messages, create_chat
from apps.common import jobs
from apps.extraction.models import ExtractionRun
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.extraction.steps.asking import Asker
from apps.memories.models import Memory
from tests.extraction.engine import storyteller
from tests.extraction.engine.layers import state_hash
from tests.extraction.engine.story import append, read, taken
from tests.factories import make_character, parsed
from tests.llm.scripted_server import Reply, ScriptedServer

NAMES = [f"Member{n}" for n in range(10)]
FEW = 4  # of them, where their number is not the promise
DEEDS = ["owes a favour to", "wrote a love letter to", "stole nine horses from"]  # one a round
VICTIMS = ["Agnes", "Bertram", "Cecily", "Duncan", "Edith", "Fergus", "Greta", "Hugo", "Isolde", "Jasper"]
KINDS = ["RELATIONSHIP", "EVENT", "FACT"]
HEARD = ["Alice hates thunderstorms.", "Alice sings in a choir.", "Alice broke her left arm."]
ONLY: dict[str, Any] = {"tiers": ["long_term"]}


def group(owner: User, members: int = 10) -> Chat:
    """Some characters. Each says something that all hear, and whispers to its neighbour."""
    chat = create_chat(owner, title="The council", user_name="Alice")
    for name in NAMES[:members]:
        add_participant(owner, chat.pk, name=name, character=make_character(owner, name))
    tell_round(chat, 0, members)
    return Chat.objects.for_owner(owner).get(pk=chat.pk)


def tell_round(chat: Chat, round_: int, members: int = 10) -> None:
    said = [parsed(f"FACT(3): {HEARD[round_]}", is_user=True)]
    for n, name in enumerate(NAMES[:members]):
        said.append(
            parsed(
                f"{KINDS[round_]}(2): {secret_of(n, round_)}",
                name=name,
                extra={"loci": {"witnesses": [name, NAMES[(n + 1) % members]]}},
            )
        )
    append_messages(chat.owner_id, chat.pk, said)


def secret_of(n: int, round_: int) -> str:
    return f"{NAMES[n]} {DEEDS[round_]} {VICTIMS[n]}."


def known_to(owner: User, name: str) -> list[str]:
    rows = Memory.objects.for_owner(owner).filter(character__name=name, tier="long_term", state="active")
    return sorted(rows.values_list("text", flat=True))


def secrets_of(n: int, round_: int, members: int = 10) -> set[str]:
    """What a member witnessed of a round."""
    return {secret_of(n, round_), secret_of((n - 1) % members, round_), HEARD[round_]}


def asked_for(server: ScriptedServer) -> list[str]:
    """The members for whom long-term memories were asked, in order."""
    asked = [one for one in server.requests if storyteller.task_of(one) == "long_term"]
    return [storyteller.value_of(one, "subject") for one in asked]


def test_each_of_ten_learns_what_it_witnessed_and_nobody_elses_secret(owner: User, server: ScriptedServer) -> None:
    chat = group(owner)
    append(chat, "And so?", is_user=True)
    run = read(chat)
    assert (run.state, run.error) == ("succeeded", "")
    assert asked_for(server) == NAMES
    for n, name in enumerate(NAMES):
        assert set(known_to(owner, name)) == secrets_of(n, 0), name
    for request in server.requests:
        if storyteller.task_of(request) == "long_term":
            subject = storyteller.value_of(request, "subject")
            whispers = [text for text in storyteller.turns_in(request).values() if DEEDS[0] in text]
            assert len(whispers) == 2
            assert all(subject in text or _before(subject) in text for text in whispers)
    rows = Memory.objects.for_owner(owner).filter(tier="long_term")
    assert rows.count() == 30
    for memory in rows:
        assert len(memory.witnessed_by) in ((0,) if memory.text.startswith("Alice") else (2,))


def _before(name: str) -> str:
    return NAMES[(NAMES.index(name) - 1) % 10]


def test_every_round_serves_every_member_once(owner: User, server: ScriptedServer) -> None:
    chat = group(owner, members=FEW)
    for round_ in (1, 2):
        tell_round(chat, round_, members=FEW)
        append(chat, "And so?", is_user=True)
        server.requests.clear()
        run = read(chat, **ONLY)
        assert run.state == "succeeded"
        windows = run.steps.filter(stage="long_term").values_list("window", flat=True).distinct().count()
        assert sorted(asked_for(server)) == sorted(NAMES[:FEW] * windows)
        assert run.steps.filter(stage="long_term").count() == FEW * windows
    for n, name in enumerate(NAMES[:FEW]):
        assert set(known_to(owner, name)) == set.union(*(secrets_of(n, round_, FEW) for round_ in range(3))), name


def test_a_worker_that_dies_amid_the_members_resumes_with_the_next_one(
    owner: User, server: ScriptedServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    undisturbed = group(owner, members=FEW)
    append(undisturbed, "And so?", is_user=True)
    read(undisturbed, **ONLY)
    kept = {name: known_to(owner, name) for name in NAMES[:FEW]}
    Memory.objects.for_owner(owner).update(state="retired", retired_reason="fresh_start")
    chat = group_again(owner)
    server.requests.clear()
    run, _ = start_run(owner, chat, **ONLY)
    original = Asker.__call__

    def die_at_the_third(self: Asker, task: str, material: Mapping[str, Any], **options: Any) -> str:
        if task == "long_term" and material["subject"] == NAMES[2]:
            raise KeyboardInterrupt  # what no handler in the product takes for a failure
        return original(self, task, material, **options)

    with monkeypatch.context() as patch:
        patch.setattr(Asker, "__call__", die_at_the_third)
        with pytest.raises(KeyboardInterrupt):
            pipeline.execute(run.pk)
    assert asked_for(server) == NAMES[:2]
    assert run.steps.filter(stage="long_term").count() == 2
    ExtractionRun.objects.for_owner(owner).filter(pk=run.pk).update(heartbeat_at=None)
    assert taken(run).state == "succeeded"
    assert asked_for(server) == NAMES[:FEW]
    assert {name: known_to(owner, name) for name in NAMES[:FEW]} == kept


def group_again(owner: User) -> Chat:
    """The same group in another chat, with the same characters."""
    from apps.chats.models import Character

    chat = create_chat(owner, title="The council", user_name="Alice")
    for name in NAMES[:FEW]:
        character = Character.objects.for_owner(owner).get(name=name)
        add_participant(owner, chat.pk, name=name, character=character)
    tell_round(chat, 0, members=FEW)
    append(chat, "And so?", is_user=True)
    return Chat.objects.for_owner(owner).get(pk=chat.pk)


def test_a_member_who_stops_in_the_middle_is_asked_again_and_the_others_are_not(
    owner: User, server: ScriptedServer
) -> None:
    chat = group(owner, members=FEW)
    append(chat, "And so?", is_user=True)
    server.reply_to(
        lambda request: (
            storyteller.task_of(request) == "long_term" and storyteller.value_of(request, "subject") == NAMES[2]
        ),
        Reply(status=500),
    )
    run = read(chat, **ONLY)
    assert (run.state, run.waits_for) == ("queued", "server")
    assert "500" in run.error
    assert all(known_to(owner, name) for name in NAMES[:2])
    assert not any(known_to(owner, name) for name in NAMES[2:])
    server.reply_to(lambda request: storyteller.task_of(request) == "long_term", storyteller.answer)
    assert taken(jobs.resume(run)).state == "succeeded"
    for n, name in enumerate(NAMES[:FEW]):
        assert set(known_to(owner, name)) == secrets_of(n, 0, FEW), name
    before = state_hash(chat)
    read(chat, from_index=0, **ONLY)
    assert state_hash(chat) == before
