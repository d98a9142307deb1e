"""What the same messages say is remembered once, however often and by whichever run they are read."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from django.db import transaction
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from apps.chats.models import Chat
from apps.chats.operations import add_participant, append_messages
from apps.extraction.memories.outcomes import outcome_of_proposals
from apps.extraction.memories.proposals import candidates_from, propose
from apps.extraction.models import ExtractionRun
from apps.extraction.settings.stores import settings_of
from apps.extraction.steps.asking import Answer, Asker
from apps.extraction.steps.context import Context
from apps.llm.backends.selection import backend_for
from apps.memories.models import Memory
from apps.memories.operations import delete_memory, merge_by_hand
from apps.memories.verdicts.judging import Outcome
from tests.factories import UserFactory, make_character, make_chat, parsed
from tests.properties import WITH_DATABASE

STATEMENTS = [
    "Mira lives in Paris.",
    "Mira moved to Lyon.",
    "Mira lives in a red house in Paris.",
    "Tom works as a baker.",
    "Tom quit the bakery and became a sailor.",
    "Mira likes tea.",
    "Mira does not like tea.",
    "Mira has two sisters.",
    "Mira has three sisters.",
    "Corin drowned six years ago.",
    "Corin is alive.",
    "Tom owns the blue boat.",
    "Tom sold the blue boat.",
    "The gate is locked.",
    "The gate stands open.",
]
PAIRS = Path(__file__).parents[1] / "data" / "supersession.jsonl"
OURS = [json.loads(row)[key] for row in PAIRS.read_text().splitlines() for key in ("existing", "candidate")]


def read(chat: Chat, said: Sequence[str], tier: str, *, is_cited: bool = False) -> Counter[str]:
    """Have a run of its own read the chat, and write what its model replies: each statement as it was said.

    With ``is_cited``, each names the message that says it: what two messages say has two hashes.
    """
    run = ExtractionRun.objects.create(owner_id=chat.owner_id, chat=chat)
    tuned = replace(settings_of(chat), new_per_kind=50)
    context = Context(run, tuned, Asker(run, backend_for(chat.owner_id)), reading={"relationships": Answer("NONE")})
    kind = "fact" if tier == "long_term" else "detail"
    turns = {message.index: message for message in chat.messages.with_swipes().order_by("index")}
    cited = [f":sources={index}" if is_cited else "" for index in range(len(said))]
    reply = "\n".join(f"[{kind}:2:permanent{source}] {text}" for source, text in zip(cited, said, strict=True))
    proposals = propose(context, turns, tier, reply)
    counts = sum((write() for write in outcome_of_proposals(context, proposals, None).writes), Counter[str]())
    ExtractionRun.objects.for_owner(chat.owner_id).filter(pk=run.pk).update(state=ExtractionRun.State.SUCCEEDED)
    return counts


def remembered(chat: Chat) -> list[tuple[str, str, object]]:
    rows = Memory.objects.for_owner(chat.owner_id).order_by("pk")
    return [(row.text, row.state, row.superseded_by_id) for row in rows]


@pytest.mark.parametrize("tier", ["session", "long_term"])
@given(said=st.lists(st.sampled_from(STATEMENTS) | st.sampled_from(OURS), max_size=8), is_cited=st.booleans())
@example(said=["Mira lives in Paris.", "Mira lives in Paris.", "Mira moved to Lyon."], is_cited=True)
@settings(max_examples=WITH_DATABASE, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_the_same_messages_read_again_change_nothing(db: None, tier: str, said: list[str], is_cited: bool) -> None:
    with transaction.atomic():
        owner = UserFactory()
        chat = make_chat(owner, *said, character=make_character(owner))
        read(chat, said, tier, is_cited=is_cited)
        first = remembered(chat)
        assert bool(first) == bool(said)
        counts = read(chat, said, tier, is_cited=is_cited)
        assert remembered(chat) == first
        assert set(+counts) <= {Outcome.RECONFIRMED, Outcome.REJECTED}
        transaction.set_rollback(True)


def test_what_a_person_merged_is_not_learnt_apart_when_its_messages_are_read_again(db: None) -> None:
    owner = UserFactory()
    said = ["Mira lives in Paris.", "Mira lives in Paris.", "Tom is Mira's brother."]
    chat = make_chat(owner, *said, character=make_character(owner))
    read(chat, said, "long_term", is_cited=True)
    parts = list(Memory.objects.for_owner(owner).order_by("pk"))
    merge_by_hand(parts, "Mira, who is Tom's sister, lives in Paris.", editor="a person")
    merged = remembered(chat)
    read(chat, said, "long_term", is_cited=True)
    assert remembered(chat) == merged


@pytest.mark.parametrize("pinned", [True, False])
def test_a_run_replaces_no_pinned_memory(db: None, pinned: bool) -> None:
    owner = UserFactory()
    chat = make_chat(owner, "Mira lives in Paris.", character=make_character(owner))
    read(chat, ["Mira lives in Paris."], "long_term")
    old = Memory.objects.for_owner(owner).get()
    Memory.objects.for_owner(owner).update(pinned=pinned)
    append_messages(owner, chat.pk, [parsed("Mira moved to Lyon.")])
    counts = read(chat, ["Mira moved to Lyon."], "long_term")
    assert counts[Outcome.REPLACES] == 1
    old.refresh_from_db()
    assert old.state == (Memory.State.ACTIVE if pinned else Memory.State.SUPERSEDED)


@pytest.mark.parametrize("is_replaced", [True, False])
def test_what_a_person_deleted_is_not_learnt_when_it_is_said_again_in_the_same_words(
    db: None, is_replaced: bool
) -> None:
    """Also where no model judges, and where something else had replaced it before."""
    owner = UserFactory()
    chat = make_chat(owner, "Mira likes tea.", character=make_character(owner))
    read(chat, ["Mira likes tea."], "long_term")
    old = Memory.objects.for_owner(owner).get()
    if is_replaced:
        Memory.objects.for_owner(owner).update(state=Memory.State.SUPERSEDED)
    delete_memory(old)
    append_messages(owner, chat.pk, [parsed("Mira likes tea.")])
    assert read(chat, ["Mira likes tea."], "long_term") == Counter({Outcome.REJECTED: 1})
    assert Memory.objects.for_owner(owner).get() == old


def test_a_line_keeps_the_source_that_it_names(db: None) -> None:
    """One that names none is traced to the message that shares most words with it."""
    owner = UserFactory()
    chat = make_chat(owner, "I live in Paris, in a red house.", "Lovely.", character=make_character(owner))
    run = ExtractionRun.objects.create(owner_id=owner.pk, chat=chat)
    context = Context(run, settings_of(chat), Asker(run, backend_for(owner.pk)))
    turns = {message.index: message for message in chat.messages.with_swipes().order_by("index")}
    reply = "[fact:2:permanent:sources=1] Mira lives in Paris.\n[fact:2:permanent] Mira has a red house."
    proposals = propose(context, turns, "long_term", reply)
    assert [candidate.sources for candidate in proposals.compared.candidates] == [(0,), (1,)]


def test_in_a_group_a_line_says_who_learns_it(db: None) -> None:
    """A line for another member is a secret; one for somebody who is no member says nothing about who learnt it."""
    owner = UserFactory()
    mira = make_character(owner)
    chat = make_chat(owner, "The mill burns.", "Oh.", character=mira)
    for name in ("Mira", "Tom"):
        add_participant(owner, chat.pk, name=name, character=mira if name == "Mira" else None)
    chat.refresh_from_db()
    run = ExtractionRun.objects.create(owner_id=owner.pk, chat=chat)
    context = Context(run, settings_of(chat), Asker(run, backend_for(owner.pk)), character=mira)
    turns = {message.index: message for message in chat.messages.with_swipes().order_by("index")}
    lines = {
        "Tom": "The mill is sold.",
        "Mira": "The boat is red.",
        "Tom,Mira": "The inn is old.",
        "Zed": "It rains a lot.",
    }
    reply = "\n".join(f"[fact:2:permanent:for={names}:sources=0] {text}" for names, text in lines.items())
    learnt = candidates_from(context, turns, "long_term", reply, witnessed={0}).items
    assert {candidate.text for candidate in learnt} == set(lines.values()) - {"The mill is sold."}
    assert not candidates_from(context, turns, "long_term", reply, witnessed={1}).items
