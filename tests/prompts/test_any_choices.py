"""A prompt's memories are chosen from few candidates as they would be from all of them."""

from dataclasses import replace
from itertools import pairwise
from math import ceil

import pytest
from django.db import connection
from django.db.models import F
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from apps.chats.models import Chat, Message
from apps.chats.operations import add_participant, append_messages, branch_chat
from apps.extraction.settings.stores import settings_of
from apps.llm.embeddings import get_embedder
from apps.memories.models import Inheritance, Memory, Supersession
from apps.memories.recallable import recallable
from apps.prompts.retrieval import choices
from apps.prompts.retrieval import choices as candidates
from apps.prompts.retrieval.choices import Wanted, choose
from apps.prompts.turns import UserTurn, turn_from_message
from apps.prompts.witnessing import Viewpoint
from apps.search.service import QueryVectors
from tests.factories import UserFactory, make_character, make_chat, make_memory, parsed
from tests.properties import WITH_DATABASE

CAP = 4

rows = st.fixed_dictionaries(
    {
        "tier": st.sampled_from(["session", "long_term"]),
        "kind": st.sampled_from(["fact", "preference", "scene"]),
        "importance": st.integers(1, 3),
        "confidence": st.sampled_from([0.3, 0.5, 0.7, 1.0]),
        "state": st.sampled_from(["active", "active", "active", "superseded", "retired"]),
        "expiration": st.sampled_from(["scene", "session", "permanent"]),
        "pinned": st.booleans(),
        "hidden": st.sampled_from([False, False, True]),
        "triggers": st.sampled_from([[], [], ["key"]]),
    }
)
placed_rows = st.lists(st.tuples(rows, st.integers(0, 2), st.integers(0, 9), st.integers(0, 9)), max_size=30)


def limited(turn: UserTurn) -> UserTurn:
    """Give the turn memory settings with low caps."""
    turn.__dict__["memory_settings"] = replace(settings_of(turn.chat), session_cap=CAP, long_term_cap=CAP)
    return turn


def best_of_all(turn, tier, character, wanted):
    """Return the priorities of those chosen in Python from all memories that were known.

    Without vectors, no memory is nearer than another.
    """
    witness = Viewpoint(turn.chat, character).ids
    rows = recallable(turn.chat, tier, character and character.pk, witness).known_at(turn.chat, turn.index - 1)
    known = rows.annotate(place=F("begins_index"), sureness=F("confidence_here"))

    def is_in_scene(memory):
        in_chat = memory.valid_from_id is None or (memory.place is not None and memory.place > turn.scene_end)
        return memory.expiration != "scene" or in_chat

    def priority(memory):
        value = 0.1 * memory.importance + 0.2 * memory.sureness + 10 * memory.pinned
        if tier == "session":
            value += 0.3 * bool(set(memory.triggers) & set(wanted.words))
            value += 0.2 * (memory.place or 0) / max(turn.index, 1)
        return round(value, 9), memory.pk

    ranked = sorted(filter(is_in_scene, known), key=priority, reverse=True)
    if tier == "long_term":
        share, ranked_of_kind = ceil(CAP / 4), {}
        for memory in ranked:
            ranked_of_kind.setdefault(memory.kind, []).append(memory)
        best = {memory.pk for of_kind in ranked_of_kind.values() for memory in of_kind[:share]}
        ranked = [memory for memory in ranked if memory.pk in best or memory.pinned]
    return sorted(priority(memory)[0] for memory in ranked[:CAP])


@pytest.mark.parametrize("tier", ["session", "long_term"])
# Each example writes a branch and a chat: to shrink one would take minutes.
@settings(
    phases=[Phase.generate], max_examples=WITH_DATABASE, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(placed=placed_rows, asked_at=st.sampled_from([2, 6, 10]))
def test_candidates_are_enough(tier, placed, asked_at, chat, monkeypatch):
    """Whatever memories there are: of the chat, of another one, of a branch, replaced in either, at any turn."""
    monkeypatch.setattr(candidates, "KIND_MARGIN", 0)
    Memory.objects.for_owner(chat.owner).all().delete()
    Chat.objects.for_owner(chat.owner).exclude(pk=chat.pk).delete()
    character = chat.character
    chats = [chat, make_chat(chat.owner, "Hello.", "Well met.", character=character)]
    made = []
    for number, (fields, place, first, last) in enumerate(placed):
        if number == len(placed) // 2:
            chats.append(branch_chat(chat.owner, chat.pk, at=6))
        home = chats[place % len(chats)]
        messages = list(Message.objects.for_owner(chat.owner).filter(chat=home).order_by("index")[:10])
        ends = messages[last % len(messages)] if fields["state"] != "active" else None
        made.append(
            make_memory(home, f"Memory {number}.", valid_from=messages[first % len(messages)], valid_to=ends, **fields)
        )
    for older, newer in pairwise(made):
        if older.state == "superseded" and older.story != newer.story:
            Memory.objects.for_owner(chat.owner).filter(pk=older.pk).update(superseded_by=newer)
            Supersession.objects.create(owner_id=chat.owner_id, memory=older, successor=newer)
    for here in (chat, *chats[2:]):
        at = min(asked_at, here.message_count - 1)
        message = Message.objects.for_owner(chat.owner).filter(chat=here, index=at).with_swipes().get()
        turn = limited(turn_from_message(here, message))
        wanted = Wanted(words=["key"])
        found = sorted(round(choice.priority, 9) for choice in choose(turn, tier, character, wanted) if choice.always)
        assert found == best_of_all(turn, tier, character, wanted)


def test_of_many_memories_no_list_is_forgotten(chat):
    """Of a session with more memories than any list: the newest, the best, the near, the pinned and the recalled."""
    first, last = (Message.objects.for_owner(chat.owner).get(chat=chat, index=index) for index in (0, 29))
    near, pinned, recalled, best = (
        make_memory(chat, text, tier="session", valid_from=first, **{"importance": 1, "confidence": 0} | fields)
        for text, fields in [
            ("Near.", {}),
            ("Pinned.", {"pinned": True}),
            ("Recalled.", {"triggers": ["key"]}),
            ("Best.", {"importance": 3, "confidence": 1}),
        ]
    )
    common = {"owner_id": chat.owner_id, "chat": chat, "story": chat.story, "tier": "session", "kind": "fact"}
    Memory.objects.bulk_create(
        Memory(**common, text=f"Memory {number}.", importance=2, confidence=0.5, valid_from=first)
        for number in range(2 * candidates.LIST_LENGTH)
    )
    newest = make_memory(chat, "Newest.", tier="session", valid_from=last, importance=2, confidence=0.5)
    turn = turn_from_message(chat, Message.objects.for_owner(chat.owner).with_swipes().get(chat=chat, index=30))
    wanted = Wanted(words=["key"], required=[near.pk])
    chosen = {choice.id: choice for choice in choose(turn, "session", chat.character, wanted)}
    assert {near.pk, pinned.pk, recalled.pk, best.pk, newest.pk} <= set(chosen)
    assert [chosen[memory.pk].always for memory in (pinned, best, newest)] == [True] * 3
    assert sum(choice.always for choice in chosen.values()) == settings_of(chat).session_cap


@pytest.mark.parametrize("tier", ["session", "long_term"])
def test_without_vectors_a_word_recalls_the_most_important_and_the_newest(tier, chat):
    """Beyond the cap, which a pinned memory fills."""
    make_memory(chat, "Pinned.", tier=tier, pinned=True)
    rows = [make_memory(chat, f"Key {n}.", tier=tier, triggers=["key"], importance=1 + (n == 0)) for n in range(7)]
    turn = turn_from_message(chat, Message.objects.for_owner(chat.owner).with_swipes().get(chat=chat, index=30))
    turn.__dict__["memory_settings"] = replace(settings_of(chat), session_cap=1, long_term_cap=1)
    chosen = choose(turn, tier, chat.character, Wanted(words=["key"]))
    recalled = {choice.id for choice in chosen if not choice.always}
    assert recalled == {rows[0].pk, *(row.pk for row in rows[-3:])}


def test_what_others_witnessed_takes_no_place_of_a_member(alice):
    """Nor in a group with more of such memories than any list."""
    group, mira, tom = make_chat(alice), *(make_character(alice, name) for name in ("Mira", "Tom"))
    for member in (mira, tom):
        add_participant(alice, group.pk, name=member.name, character=member)
    group = append_messages(alice, group.pk, [parsed("Hello.", is_user=True)]).chat
    of_tom = [group.participants.get(character=tom).pk]
    make_many(group, tier="session", importance=3, confidence=1, witnessed_by=of_tom)
    best = make_memory(group, "Best.", tier="session", importance=3)
    make_many(group, tier="session", importance=1)
    turn = turn_from_message(group, Message.objects.for_owner(alice).with_swipes().get(chat=group))
    assert best.pk in {choice.id for choice in choose(turn, "session", mira, Wanted())}


def test_what_other_chats_alone_remember_takes_no_place_of_a_kind(chat):
    """A long-term memory that expires with its session is not carried to other chats."""
    other = make_chat(chat.owner, "Hello.", character=chat.character)
    fact = make_memory(chat, "Fact.", importance=3)
    make_many(other, tier="long_term", importance=3, confidence=1, expiration="session")
    for kind in ("relationship", "preference", "event"):
        make_memory(chat, f"A {kind}.", kind=kind)
    make_memory(chat, "Pinned.", kind="event", pinned=True, importance=1)
    message = Message.objects.for_owner(chat.owner).with_swipes().get(chat=chat, index=30)
    turn = limited(turn_from_message(chat, message))
    assert fact.pk in {choice.id for choice in choose(turn, "long_term", chat.character, Wanted())}


@pytest.mark.parametrize(("tier", "fields"), [("long_term", {}), ("session", {"expiration": "scene"})])
def test_memories_are_not_all_compared_if_the_lists_lack_none(tier, fields, chat, monkeypatch):
    """Such as those of a character with few relationships, or those about scenes that have ended."""
    first = Message.objects.for_owner(chat.owner_id).get(chat=chat, index=0)
    for kind in ("fact", "preference", "event"):
        make_many(chat, tier=tier, kind=kind, valid_from=first, **fields)
    make_memory(chat, "Mira trusts Alice.", tier=tier, kind="relationship")
    turn = turn_from_message(chat, Message.objects.for_owner(chat.owner_id).with_swipes().get(chat=chat, index=30))
    turn.__dict__["scene_end"] = 10
    asked, chosen = [], choices._chosen
    monkeypatch.setattr(choices, "_chosen", lambda *keys: asked.append(keys[-1]) or chosen(*keys))
    assert choose(turn, tier, chat.character, Wanted())
    assert len(asked) == 1
    assert asked[0] is not None


def make_many(chat, **fields):
    """Store more equal memories of a chat than a list has."""
    common = {"owner_id": chat.owner_id, "chat": chat, "story": chat.story, "character": chat.character, "kind": "fact"}
    rows = (Memory(**common | fields, text=f"Memory {number}.") for number in range(candidates.LIST_LENGTH))
    Memory.objects.bulk_create(rows)


def of_message(chat, index):
    return Message.objects.for_owner(chat.owner).with_swipes().get(chat=chat, index=index)


def best_choice(chat):
    turn = turn_from_message(chat, of_message(chat, 30))
    return max(choose(turn, "session", chat.character, Wanted()), key=lambda choice: choice.priority).id


def test_what_is_both_recent_and_important_comes_before_what_is_only_one_of_them(chat):
    """Also where the lists of either are full."""
    make_many(chat, tier="session", importance=3, confidence=1, valid_from=of_message(chat, 0))
    both = make_memory(chat, "Both.", tier="session", importance=3, confidence=0.8, valid_from=of_message(chat, 28))
    make_many(chat, tier="session", importance=1, confidence=0.7, valid_from=of_message(chat, 29))
    assert best_choice(chat) == both.pk


def test_the_newest_memory_is_that_of_the_last_messages_though_older_ones_were_read_again(chat):
    newest = make_memory(chat, "New.", tier="session", valid_from=of_message(chat, 29))
    make_many(chat, tier="session", importance=2, valid_from=of_message(chat, 1))
    assert best_choice(chat) == newest.pk


@pytest.mark.parametrize("tier", ["session", "long_term"])
def test_a_word_that_many_memories_have_brings_the_nearest_of_them(tier, chat):
    """As candidates, of which there are few; what was retired takes none of their places."""
    embedder = get_embedder()
    text, other = (
        {"embedding": embedder.embed([text])[0], "embedding_model": embedder.model, "triggers": ["key"]}
        for text in ("What about the key?", "Mira likes plums.")
    )
    fields = {"tier": tier, "importance": 1, "confidence": 0}
    nearest = make_memory(chat, "The key.", **fields | text)
    make_many(chat, **fields | text, state="retired")
    for _ in range(3):
        make_many(chat, **fields | other | {"importance": 2})
    turn = turn_from_message(chat, of_message(chat, 30))
    wanted = Wanted(words=["key"], vectors=QueryVectors(embedder.model, list(embedder.embed([turn.text]))))
    assert nearest.pk in {choice.id for choice in choose(turn, tier, chat.character, wanted)}
    statement = candidates.candidates_sql(turn, tier, Viewpoint(chat, chat.character), wanted)
    with connection.cursor() as cursor:
        cursor.execute(statement.sql, statement.params)
        assert len(cursor.fetchall()) <= 2 * candidates.LIST_LENGTH


def test_candidates_are_of_the_owner_alone(chat):
    """Row-level security lies below it."""
    other = make_chat(UserFactory(), "Hello.")
    theirs = make_memory(other, "Theirs.", tier="session")
    Inheritance.objects.create(owner_id=other.owner_id, chat=chat, memory=theirs)
    turn = turn_from_message(chat, of_message(chat, 30))
    statement = candidates.candidates_sql(turn, "session", Viewpoint(chat, chat.character), Wanted())
    with connection.cursor() as cursor:
        cursor.execute(statement.sql, statement.params)
        assert cursor.fetchall() == []
