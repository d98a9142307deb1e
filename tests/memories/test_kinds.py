"""What becomes of a memory, and of an entry of each layer, by everything that happens to its text and its chat.

A new kind is in ``KINDS``: it needs a maker and a reader here, and then keeps every promise or fails.
"""

import dataclasses
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest
from django.apps import apps
from django.db.models import UniqueConstraint
from django.utils import timezone

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.models import Chat, Message
from apps.chats.operations import (
    Patch,
    branch_chat,
    delete_chat,
    patch_messages,
    purge_chat,
    restore_chat,
    undo_change,
)
from apps.extraction.models import ExtractionRun
from apps.extraction.progress import READING_TIERS, invalidate_chat, messages_to_extract, record_read
from apps.extraction.runs.modes import start_fresh, undo_fresh_start
from apps.extraction.tasks import settle_chat
from apps.memories.candidates import RelationshipLine
from apps.memories.kinds import KINDS, LAYERS, NAMING
from apps.memories.models import (
    REPLACED,
    Arc,
    Ending,
    Entity,
    Knowledge,
    LayerEntry,
    LedgerEntry,
    Memory,
    Relationship,
    Scene,
    VersionedText,
)
from apps.memories.models.life import NO_ROWS, Life
from apps.memories.operations import change_memories, undo_changes
from apps.memories.operations.arcs import resolve_arc
from apps.memories.operations.entities import get_or_create_entity
from apps.memories.operations.knowledge import write_knowledge
from apps.memories.operations.layer_entries import restore_entry, retire_entry
from apps.memories.operations.ledger import set_field
from apps.memories.operations.memories import delete_memory, link_sources, restore_memory
from apps.memories.operations.relationships import write_relationships
from apps.memories.operations.superseding import supersede
from apps.memories.operations.texts import NewVersion, write_version
from apps.memories.queries.arcs import open_arcs_in
from apps.memories.queries.knowledge import knowledge_in
from apps.memories.queries.ledger import ledger_in
from apps.memories.queries.relationships import relationships_in
from apps.memories.queries.scenes import finished_scenes
from apps.memories.queries.texts import current_version
from apps.moderation.operations.decisions import decide, reverse
from apps.moderation.operations.reports import report
from apps.moderation.roles import MODERATORS
from apps.moderation.targets import find_target
from tests.factories import UserFactory, make_character, make_chat, make_memory
from tests.lanes import paired
from tests.moderation.conftest import make_staff
from tests.snapshots.making import made, restored

UNCHECKED = Guard(optional=True)
TEXTS = ("Hello.", "Good day.", "The ferry.", "And then?", "The bridge.", "Well.")
BEGINS, ENDS = 2, 4  # the messages from which something is learnt, and which end it
FERRY, BRIDGE = "The ferry sinks.", "The bridge stands."


@dataclass
class World:
    """A chat of which a run has read all messages, and another chat of its character."""

    owner: User
    chat: Chat
    other: Chat
    run: ExtractionRun

    def message(self, index: int) -> Message:
        return Message.objects.for_owner(self.owner).with_swipes().get(chat=self.chat, index=index)

    def learn(self, kind: Any, at: int = BEGINS, **fields: Any) -> Any:
        """Make a row of a kind as a run does that reads a message."""
        message = self.message(at)
        if kind is Memory:
            memory = make_memory(self.chat, FERRY, run=self.run, valid_from=message, **fields)
            link_sources(self.owner.pk, memory.pk, [message])
            return memory
        begins = {"source": message, "swipe": message.active_swipe, "run": self.run}
        made = MAKERS[kind](self, message) | fields
        return kind.objects.create(owner_id=self.owner.pk, chat=self.chat, **begins, **made)

    def person(self, name: str) -> Entity:
        return get_or_create_entity(self.chat, name, Entity.Kind.CHARACTER)

    def counts(self, kind: Any, chat: Chat | None = None) -> bool:
        """Return whether what ``learn`` made counts in a chat, as pages and prompts read it."""
        chat = Chat.objects.for_owner(self.owner).select_related("character").get(pk=(chat or self.chat).pk)
        return FERRY in set(READERS[kind](chat))

    def patch(self, patch: Patch, chat: Chat | None = None) -> None:
        chat = chat or self.chat
        patch_messages(self.owner, chat.pk, [patch], UNCHECKED)
        invalidate_chat(self.owner.pk, chat.pk)

    def edit(self, index: int, chat: Chat | None = None) -> None:
        self.patch(Patch({"mes": "Never mind."}, index=index), chat)

    def unread(self) -> list[int]:
        """Return the indexes of the messages that a run is to read again."""
        rows = messages_to_extract(self.chat, READING_TIERS, 0, len(TEXTS))
        return list(rows.values_list("index", flat=True))


# Of each layer: what else a row has that says FERRY and that a run has learnt from a message.
MAKERS: dict[type[LayerEntry], Callable[[World, Message], dict[str, Any]]] = {
    Scene: lambda world, message: {"opening": world.message(message.index + 1), "recap": FERRY, "reason": "later"},
    Arc: lambda world, message: {"text": FERRY, "character": world.chat.character, "persistent": True},
    LedgerEntry: lambda world, message: {"entity": world.person("Mira"), "field": "location", "value": FERRY},
    Knowledge: lambda world, message: {"subject": world.person("Mira"), "kind": "knows", "text": FERRY},
    Relationship: lambda world, message: {
        "subject": world.person("Mira"), "target": world.person("Tom"), "descriptor": FERRY,
    },
    VersionedText: lambda world, message: {
        "kind": "summary", "text": FERRY, "document": {"schema_version": 1, "messages": message.index + 1},
    },
}  # fmt: skip

READERS: dict[Any, Callable[[Chat], Iterable[str]]] = {
    Memory: lambda chat: Memory.objects.for_owner(chat.owner_id).active_in(chat).values_list("text", flat=True),
    Scene: lambda chat: (scene.recap for scene in finished_scenes(chat)),
    Arc: lambda chat: (arc.text for arc in open_arcs_in(chat)),
    LedgerEntry: lambda chat: (value for state in ledger_in(chat) for value in state.current_values.values()),
    Knowledge: lambda chat: (row.text for row in knowledge_in(chat)),
    Relationship: lambda chat: (row.descriptor for pair in relationships_in(chat) for row in pair.descriptors),
    VersionedText: lambda chat: (version.text for version in [current_version(chat, "summary")] if version),
}


def supersede_by_another(world: World, row: Memory, message: Message) -> None:
    successor = make_memory(world.chat, BRIDGE, run=world.run, valid_from=message)
    link_sources(world.owner.pk, successor.pk, [message])
    supersede(world.chat, row.pk, successor)


def write_summary(world: World, row: VersionedText, message: Message) -> None:
    parts = {"messages": message.index + 1}
    write_version(world.chat, "summary", NewVersion(BRIDGE, parts=parts, last=message), run_id=world.run.pk)


def remove_word(world: World, row: Relationship, message: Message) -> None:
    line = RelationshipLine(row.subject.name, row.target.name, added=(), removed=(row.descriptor,))
    write_relationships(world.chat, None, [(line, message)], world.run.pk)


# How a message that comes later ends what holds. Nothing ends a scene.
ENDINGS: dict[Any, Callable[[World, Any, Message], object]] = {
    Memory: supersede_by_another,
    Arc: lambda world, row, message: resolve_arc(row, message, BRIDGE),
    LedgerEntry: lambda world, row, message: set_field(
        world.chat, row.entity, row.field, BRIDGE, message, run_id=world.run.pk
    ),
    Knowledge: lambda world, row, message: write_knowledge(world.chat, [], [(row, message)], world.run.pk),
    Relationship: remove_word,
    VersionedText: write_summary,
}

each_kind = pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
each_that_ends = pytest.mark.parametrize("kind", ENDINGS, ids=lambda kind: kind.__name__)


@pytest.fixture
def world(db: None) -> World:
    return make_world()


def make_world() -> World:
    owner = UserFactory()
    mira = make_character(owner)
    chat, other = (make_chat(owner, *TEXTS, character=mira) for _ in range(2))
    run = ExtractionRun.objects.create(owner_id=owner.pk, chat=chat, state="succeeded")
    record_read(chat, chat.messages.with_swipes(), READING_TIERS)
    return World(owner, chat, other, run)


def test_every_kind_is_known() -> None:
    assert set(LAYERS) == {model for model in apps.get_models() if issubclass(model, LayerEntry)}
    assert (set(MAKERS), set(READERS)) == (set(LAYERS), set(KINDS))
    assert set(ENDINGS) == {kind for kind in KINDS if kind.life.ended != NO_ROWS or kind.life.slot}


@each_kind
def test_what_a_kind_says_of_itself_is_so_in_the_database(kind: Any) -> None:
    fields = {field.name: field for field in (*kind._meta.concrete_fields, *kind._meta.many_to_many)}
    life = kind.life
    assert {name for model, name in NAMING if model is kind} == {
        field.name for field in fields.values() if field.related_model is Entity
    }
    assert {life.begins, "state", "retired_reason", "edited_by", "run"} <= set(fields)
    assert {life.holds, "retired"} <= set(kind.State.values)
    assert not life.outcome or life.outcome in fields
    unique = [set(one.fields) for one in kind._meta.constraints if isinstance(one, UniqueConstraint)]
    slot = {name.removesuffix("_id") for name in (*life.slot, "chat")}
    assert not life.slot or (slot in [names - {"owner"} for names in unique] and REPLACED in kind.State.values)
    ending = kind.ending_field() if kind in LAYERS else ""
    assert [ending] == ([field.name for field in Ending._meta.fields if field.related_model is kind] or [""])


@pytest.mark.parametrize("flag", dataclasses.fields(Life), ids=lambda flag: flag.name)
def test_the_table_of_flags_tells_which_kinds_have_each_and_what_reads_it(flag: dataclasses.Field[Any]) -> None:
    pattern = rf"^ +{flag.name} +((?:[x-] ){{7}}) ((?:[\w., ]|\n {{20,}})+)$"
    row = re.search(pattern, Life.__doc__ or "", re.MULTILINE)
    assert row
    marked = [kind for kind, mark in zip(KINDS, row[1].split(), strict=True) if mark == "x"]
    assert marked == [kind for kind in KINDS if getattr(kind.life, flag.name) != flag.default]
    readers = {
        f"{path.stem}.{function}"
        for path in Path("apps").rglob("*.py")
        for function, body in re.findall(r"^ *def (\w+)((?:.*\n(?! *def ))*.*\n)", path.read_text(), re.MULTILINE)
        if re.search(rf"(?<!`)\blife\.{flag.name}\b", body)
    }
    assert set(re.split(r"[,\s]+", row[2].strip())) == readers | ({"kinds.NAMING"} if flag.name == "names" else set())


@pytest.mark.parametrize(("kind", "reason"), paired(KINDS, ["source_changed", "source_gone"]))
def test_it_counts_until_its_text_is_edited_or_deleted(world: World, kind: Any, reason: str) -> None:
    row = world.learn(kind)
    assert world.counts(kind)
    if reason == "source_changed":
        world.edit(BEGINS)
        assert world.unread() == [BEGINS]
    else:
        world.patch(Patch(index=BEGINS, delete=True))
    row.refresh_from_db()
    assert (world.counts(kind), row.state, row.retired_reason) == (False, "retired", reason)


@each_kind
def test_what_a_person_corrected_stays_whatever_becomes_of_its_text(world: World, kind: Any) -> None:
    world.learn(kind, edited_by="alice")
    world.edit(BEGINS)
    assert world.counts(kind)


@each_kind
def test_another_message_changes_nothing_of_it(world: World, kind: Any) -> None:
    world.learn(kind)
    world.edit(ENDS)
    assert world.counts(kind)


@each_that_ends
def test_it_holds_again_when_the_text_that_ended_it_is_lost(world: World, kind: Any) -> None:
    row = world.learn(kind)
    ENDINGS[kind](world, row, world.message(ENDS))
    assert not world.counts(kind)
    world.edit(ENDS)
    assert world.counts(kind)


@each_that_ends
def test_what_has_ended_goes_with_its_text_unless_its_kind_keeps_it(world: World, kind: Any) -> None:
    row = world.learn(kind)
    ENDINGS[kind](world, row, world.message(ENDS))
    world.edit(BEGINS)
    row.refresh_from_db()
    assert not world.counts(kind)
    # How a thread ended, and that somebody knows better by now, is said by the text that ended it.
    assert (row.retired_reason != "source_changed") == (kind in (Arc, Knowledge)) == kind.life.ended_stays


@each_that_ends
def test_it_is_gone_when_its_text_is_lost_with_the_text_that_ended_it(world: World, kind: Any) -> None:
    row = world.learn(kind)
    ENDINGS[kind](world, row, world.message(ENDS))
    patches = [Patch({"mes": "Never mind."}, index=index) for index in (BEGINS, ENDS)]
    patch_messages(world.owner, world.chat.pk, patches, UNCHECKED)
    invalidate_chat(world.owner.pk, world.chat.pk)
    row.refresh_from_db()
    assert (world.counts(kind), row.state, row.retired_reason) == (False, "retired", "source_changed")


@each_kind
def test_a_branch_has_it_from_where_it_was_learnt_on_and_apart_from_its_parent(world: World, kind: Any) -> None:
    world.learn(kind)
    earlier, later = (branch_chat(world.owner, world.chat.pk, at) for at in (BEGINS - 1, ENDS))
    assert (world.counts(kind, earlier), world.counts(kind, later)) == (False, True)
    inner = branch_chat(world.owner, later.pk, ENDS - 1)
    world.edit(BEGINS, later)
    assert [world.counts(kind, chat) for chat in (world.chat, later, inner)] == [True, False, True]
    world.edit(BEGINS)
    assert [world.counts(kind, chat) for chat in (world.chat, inner)] == [False, True]


@each_that_ends
def test_a_branch_from_before_its_end_has_it_still(world: World, kind: Any) -> None:
    row = world.learn(kind)
    ENDINGS[kind](world, row, world.message(ENDS))
    before, after = (branch_chat(world.owner, world.chat.pk, at) for at in (ENDS - 1, ENDS))
    assert [world.counts(kind, chat) for chat in (world.chat, before, after)] == [False, True, False]
    world.edit(ENDS, after)
    assert world.counts(kind, after) != kind.life.versioned  # a branch has the last version alone


@each_kind
def test_it_goes_into_the_bin_with_its_chat_and_comes_back_with_it(world: World, kind: Any) -> None:
    world.learn(kind)
    elsewhere = world.counts(kind, world.other)
    delete_chat(world.chat)
    assert not world.counts(kind, world.other)
    restore_chat(world.owner, world.chat.pk)
    assert (world.counts(kind), world.counts(kind, world.other)) == (True, elsewhere)


@each_kind
@pytest.mark.parametrize("keep", [False, True])
def test_it_is_deleted_with_its_chat_unless_its_character_keeps_it(world: World, kind: Any, keep: bool) -> None:
    row = world.learn(kind)
    rows = kind._base_manager.filter(pk=row.pk, owner=world.owner)
    outlives = keep and rows.filter(kind.life.outlives_chat).exists()
    elsewhere = world.counts(kind, world.other)
    purge_chat(world.owner, world.chat.pk, keep_memories=keep)
    assert rows.exists() == outlives
    assert world.counts(kind, world.other) == (outlives and elsewhere)


@each_kind
def test_a_fresh_start_sets_it_aside_unless_it_is_not_of_this_chat_alone(world: World, kind: Any) -> None:
    row = world.learn(kind)
    stays = kind.objects.for_owner(world.owner).filter(kind.life.outlives_fresh_start, pk=row.pk).exists()
    start_fresh(world.owner, world.chat)
    assert world.counts(kind) == stays
    undo_fresh_start(world.owner, world.chat)
    assert world.counts(kind)
    start_fresh(world.owner, world.chat)
    world.edit(BEGINS)
    undo_fresh_start(world.owner, world.chat)
    assert not world.counts(kind)


@each_kind
def test_a_person_takes_it_away_and_brings_it_back(world: World, kind: Any) -> None:
    row = world.learn(kind)
    take_away = delete_memory if kind is Memory else partial(retire_entry, editor="alice")
    bring_back = restore_memory if kind is Memory else partial(restore_entry, editor="alice")
    take_away(row)
    assert not world.counts(kind)
    bring_back(row)
    assert world.counts(kind)


@pytest.mark.parametrize(("kind", "settled"), [(Memory, False), (Memory, True), *paired(LAYERS, [True, False])])
def test_an_undone_deletion_of_its_message_brings_it_back_or_has_it_read_again(
    world: World, kind: Any, settled: bool
) -> None:
    world.learn(kind)
    patch_messages(world.owner, world.chat.pk, [Patch(index=BEGINS, delete=True)], UNCHECKED)
    if settled:
        invalidate_chat(world.owner.pk, world.chat.pk)
    undo_change(world.owner, world.chat.pk, UNCHECKED)
    invalidate_chat(world.owner.pk, world.chat.pk)
    assert world.counts(kind) if kind is Memory else world.unread() == [BEGINS]


@each_kind
def test_it_is_not_told_while_moderators_hide_its_message(
    world: World, kind: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    settled: list[UUID] = []
    monkeypatch.setattr(settle_chat, "delay_on_commit", lambda chat_id: settled.append(UUID(chat_id)))
    row = world.learn(kind)
    branch = branch_chat(world.owner, world.chat.pk, ENDS)
    moderator = make_staff("mod@example.com", MODERATORS)
    case = report(world.owner, find_target(world.owner, "message", world.message(BEGINS).pk), reason="other").case
    decide(moderator, case.pk, "hide", reason="It is against rule 3.")
    assert set(settled) == {world.chat.pk, branch.pk}
    for chat_id in settled:
        invalidate_chat(world.owner.pk, chat_id)
    row.refresh_from_db()
    assert (row.state, row.retired_reason) == ("retired", "source_changed")
    assert (world.counts(kind), world.counts(kind, branch), world.unread()) == (False, False, [])
    reverse(moderator, case.pk, reason="So be it.")
    assert world.unread() == [BEGINS]


@pytest.mark.parametrize("state", ["failed", "cancelled", "paused"])
def test_what_moderators_hide_is_retired_whatever_became_of_the_latest_run(world: World, state: str) -> None:
    memory = world.learn(Memory)
    finished = None if state == "paused" else timezone.now()
    ExtractionRun.objects.create(
        owner=world.owner, chat=world.chat, state=state, chat_rev=world.chat.rev, finished_at=finished
    )
    case = report(world.owner, find_target(world.owner, "message", world.message(BEGINS).pk), reason="other").case
    decide(make_staff("mod@example.com", MODERATORS), case.pk, "hide", reason="It is against rule 3.")
    settle_chat(chat_id=str(world.chat.pk))
    memory.refresh_from_db()
    assert (memory.state, memory.retired_reason) == ("retired", "source_changed")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scope", ["account", "chat"])
def test_a_snapshot_brings_back_every_kind(scope: str) -> None:
    world = make_world()
    rows = {kind: world.learn(kind) for kind in KINDS}
    snapshot = made(world.owner, None if scope == "account" else world.chat)
    world.edit(BEGINS)
    assert not any(world.counts(kind) for kind in KINDS)
    restored(snapshot)
    assert [kind for kind in KINDS if not world.counts(kind)] == []
    assert all(kind.objects.for_owner(world.owner).filter(pk=row.pk).exists() for kind, row in rows.items())


def test_an_undone_change_shows_nothing_that_moderators_have_hidden_meanwhile(world: World) -> None:
    memory = world.learn(Memory)
    former = change_memories(world.owner, [memory.pk], editor="alice", hidden=True)
    case = report(world.owner, find_target(world.owner, "memory", memory.pk), reason="other").case
    decide(make_staff("mod@example.com", MODERATORS), case.pk, "hide", reason="It is against rule 3.")
    assert undo_changes(world.owner, former) == 0
    memory.refresh_from_db()
    assert (memory.hidden, memory.withheld) == (True, True)
