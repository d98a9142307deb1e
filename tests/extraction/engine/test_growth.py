"""What grows is merged, what is out of date replaced, what nobody confirms fades, nothing is retired for capacity."""

from typing import Any

import pytest

from apps.accounts.models import User
from apps.extraction.runs import pipeline
from apps.memories.models import Arc, Memory
from apps.memories.operations import memories
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import MEMORIES_ALONE, tune
from tests.extraction.engine.layers import sources_of, texts
from tests.extraction.engine.story import append, delete, read, settle, swipe, tell
from tests.llm.scripted_server import ScriptedServer

COLLECTED = [
    *(f"FACT(2): Mira collects {what}." for what in ("maps", "shells", "tales")),
    "FACT(3): Mira collects coins.",
    "Good.",
]
LONG_TERM = {"tiers": ["long_term"]}
PETS = ["a goose called Erna", "an owl called Ulla", "seven goats", "a blind horse", "the old dog Rex", "two cats"]


def asked(server: ScriptedServer, task: str) -> list[str]:
    return [one.prompt for one in server.requests if storyteller.task_of(one) == task]


def memory(owner: User, text: str) -> Memory:
    return Memory.objects.for_owner(owner).get(text=text)


def test_the_model_says_what_replaces_what_where_no_rule_does(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, "FACT(2): Mira grew up in Port Salt.", "I see.", "Good.")
    read(chat, **LONG_TERM)
    append(chat, "FACT(2): Mira grew up in Marrow.", "Good.", is_user=True)
    read(chat, **LONG_TERM)
    assert texts(chat) == ["Mira grew up in Marrow.", "Mira grew up in Port Salt."]  # INDEPENDENT
    append(chat, "FACT(2): Mira grew up in Selby, she now says.", "Good.", is_user=True)
    read(chat, **LONG_TERM)
    [question, *others] = asked(server, "pairs")[::-1]
    assert others
    new = memory(owner, "Mira grew up in Selby, she now says.")
    [old] = Memory.objects.for_owner(owner).filter(superseded_by=new)
    assert old.text in question
    assert (old.state, old.valid_to) == ("superseded", new.valid_from)
    assert len(texts(chat)) == 2


def test_enough_of_a_kind_is_merged_with_links_both_ways_and_a_lost_member_undoes_it(owner: User) -> None:
    chat = tell(owner, *COLLECTED)
    run = read(chat, **LONG_TERM)
    [merged] = Memory.objects.for_owner(owner).filter(state="active")
    assert merged.text == "Mira collects maps and shells and tales and coins."
    assert (merged.importance, merged.consolidated, merged.run) == (3, True, run)
    assert sources_of(merged) == [0, 1, 2, 3]
    members = Memory.objects.for_owner(owner).filter(superseded_by=merged)
    assert {(one.state, one.retired_reason) for one in members} == {("superseded", "merged")}
    assert members.count() == 4

    delete(chat, 1)
    settle(chat)
    assert texts(chat, tier="long_term") == ["Mira collects coins.", "Mira collects maps.", "Mira collects tales."]
    merged.refresh_from_db()
    assert (merged.state, merged.retired_reason) == ("retired", "source_changed")


def test_no_text_is_embedded_while_the_chat_is_locked(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    """A model may take its time, in which no message could be written."""
    write_step, kept = pipeline._write_step, memories.vectors_if_available

    def write(*arguments: Any) -> None:
        monkeypatch.setattr(memories, "vectors_if_available", None)
        write_step(*arguments)
        monkeypatch.setattr(memories, "vectors_if_available", kept)

    monkeypatch.setattr(pipeline, "_write_step", write)
    run = read(tell(owner, *COLLECTED), **LONG_TERM)
    assert (run.error, run.counts["merged"]) == ("", 4)


def test_what_is_merged_is_not_learnt_again_from_the_same_text(owner: User) -> None:
    chat = tell(owner, *(f"FACT(2): Mira collects {what}." for what in ("maps", "shells", "coins", "tales")), "Good.")
    read(chat, **LONG_TERM)
    before = texts(chat)
    read(chat, from_index=0, **LONG_TERM)
    assert texts(chat) == before
    append(chat, "FACT(2): Mira collects maps.", "Good.", is_user=True)
    read(chat, **LONG_TERM)
    assert Memory.objects.for_owner(owner).filter(state="active", text__contains="maps").count() <= 2


def test_what_a_model_makes_up_while_merging_is_no_merge(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, *(f"FACT(2): Mira collects {what}." for what in ("maps", "shells", "coins", "tales")), "Good.")
    lines = ["[merge:1,99] Mira collects maps and stars.", "[merge:1] Mira collects maps.",
             "[merge:2,3] The king of Spain is bald.", "[merge:1,2] Mira collects maps and shells.",
             "[merge:2,3] Mira collects shells and coins."]  # fmt: skip
    server.reply_to(lambda request: storyteller.task_of(request) == "consolidate", "\n".join(lines))
    run = read(chat, **LONG_TERM)
    assert texts(chat) == ["Mira collects coins.", "Mira collects maps and shells.", "Mira collects tales."]
    assert len(run.steps.get(stage="long_term_consolidation").unused_lines) == 4


def test_nothing_is_retired_for_capacity(owner: User, server: ScriptedServer) -> None:
    said = [f"FACT({3 if n < 2 else 1}): Mira keeps {pet} in the cellar." for n, pet in enumerate(PETS)]
    chat = tell(owner, *said, "Good.")
    tune(chat, long_term_cap=4, session_cap=4, consolidate_fact=100, new_per_kind=10)
    read(chat, **LONG_TERM)
    assert len(texts(chat)) == len(PETS)
    append(chat, "And?", "Good.", is_user=True)
    read(chat, **LONG_TERM)
    assert len(texts(chat)) == len(PETS)
    [*_, prompt] = asked(server, "long_term")
    assert sum(pet in prompt for pet in PETS) == 4  # the cap bounds what the model is shown
    assert all(pet in prompt for pet in PETS[:2])


def test_arcs_beyond_the_cap_stay_open_and_are_shown_when_the_story_returns_to_them(
    owner: User, server: ScriptedServer
) -> None:
    arcs = "ARC: Mira must find the northern lighthouse keeper.", "ARC: Bertram owes the harbour a ship."
    chat = tell(owner, *arcs, "Good.")
    tune(chat, arcs_cap=1, arcs_window=10)
    read(chat, tiers=["arcs"])
    append(chat, "ARC: Someone poisons the village wells.", "Good.", is_user=True)
    read(chat, tiers=["arcs"])
    assert [arc.state for arc in Arc.objects.for_owner(owner)] == ["open"] * 3
    append(chat, *(f"They walk on for mile {number}." for number in range(12)), "Good.")
    read(chat, tiers=["arcs"])
    assert "wells" in storyteller.value_of(server.requests[-1], "open")
    append(chat, "RESOLVED: Bertram gave the harbour a ship.", "Good.", is_user=True)
    read(chat, tiers=["arcs"])
    assert Arc.objects.for_owner(owner).get(state="resolved").text.startswith("Bertram")


def test_what_is_never_confirmed_loses_confidence_but_is_never_retired(owner: User) -> None:
    chat = tell(owner, "FACT(2): Mira keeps an owl.", "FACT(2): Mira was born in Selby.", "Good.")
    tune(chat, decay_after=2, decay=0.2, confidence=0.7, decay_floor=0.3)
    read(chat, **LONG_TERM)
    seen: list[tuple[float, str]] = []
    for _ in range(6):
        append(chat, "FACT(2): Mira keeps an owl.", "Good.", is_user=True)
        read(chat, **LONG_TERM)
        row = memory(owner, "Mira was born in Selby.")
        seen.append((round(row.confidence, 2), row.state))
    assert seen == [
        (0.7, "active"), (0.7, "active"), (0.5, "active"), (0.3, "active"), (0.3, "active"), (0.3, "active"),
    ]  # fmt: skip
    owl = memory(owner, "Mira keeps an owl.")
    assert (owl.state, round(owl.confidence, 2), owl.unconfirmed) == ("active", 1.0, 0)
    assert sources_of(owl) == [0, 3, 5, 7, 9, 11, 13]


def test_a_memory_confirmed_elsewhere_outlives_one_of_its_sources(owner: User) -> None:
    chat = tell(owner, "FACT(2): Mira keeps an owl.", "I see.", "FACT(2): Mira keeps an owl.", "Good.", "Yes.")
    tune(chat, chunk=2, **MEMORIES_ALONE)
    read(chat, **LONG_TERM)
    owl = memory(owner, "Mira keeps an owl.")
    assert sources_of(owl) == [0, 2]
    swipe(chat, 0, "Hello.")
    settle(chat)
    owl.refresh_from_db()
    assert (owl.state, sources_of(owl)) == ("active", [2])
    swipe(chat, 2, "Hello.")
    settle(chat)
    owl.refresh_from_db()
    assert (owl.state, owl.retired_reason) == ("retired", "source_changed")


@pytest.mark.parametrize("outage", ["at first", "later"])
def test_without_vectors_nothing_is_learnt_twice(outage: str, owner: User, server: ScriptedServer) -> None:
    """Vectors fail for a run; those before and after it have them."""
    from tests.llm.scripted_server import Reply

    down: list[bool] = [outage == "at first"]
    server.reply_to(lambda request: request.kind == "embeddings" and down[0], Reply(status=500))
    chat = tell(owner, "FACT(2): Mira keeps an owl in the attic.", "Good.", "Yes.")
    read(chat, **LONG_TERM)
    down[0] = not down[0]
    read(chat, from_index=0, **LONG_TERM)
    append(chat, "FACT(2): Mira keeps an owl in the attic.", "Good.", is_user=True)
    read(chat, **LONG_TERM)
    [owl] = Memory.objects.for_owner(owner)
    assert sources_of(owl) == [0, 3]
