"""What memory extensions left in a SillyTavern chat is remembered after its import."""

import io
import json
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from apps.chats.models import Chat
from apps.exchange.chats.imports import ImportResult, import_chats
from apps.memories.models import Arc, Entity, LedgerEntry, Memory, VersionedText
from apps.memories.queries.scenes import finished_scenes
from apps.prompts.models import Recall
from apps.prompts.operations import ensure_recall
from tests.factories import UserFactory, make_character, make_chat
from tests.properties import WITH_DATABASE

pytestmark = pytest.mark.django_db
START = 1_700_000_000_000  # milliseconds; messages are a minute apart


def line(number: int, mes: str, **extra: Any) -> dict[str, Any]:
    is_user = number % 2 == 0
    name = "Alice" if is_user else "Mira"
    return {"name": name, "is_user": is_user, "send_date": START + number * 60_000, "mes": mes, "extra": extra}


def take_in(metadata: dict[str, Any], *more: dict[str, Any], owner: Any = None, existing: str = "copy") -> ImportResult:
    lines = [
        {"user_name": "Alice", "character_name": "Mira", "chat_metadata": metadata},
        line(0, "Where is the key?"),
        line(1, "Under the third stone."),
        line(2, "And the boat?"),
        line(3, "The boat is called Heron."),
        *more,
    ]
    file = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
    return import_chats(owner or UserFactory(), file, filename="heist.jsonl", existing=existing)


def rows(model: Any, chat: Chat) -> Any:
    return model.objects.for_owner(chat.owner_id).filter(chat=chat)


SMART = {
    "schema_version": 9,
    "summary": "Alice and Mira plan a heist.",
    "summaryEnd": 1,
    "sessionEntities": [{"id": "e1", "name": "Heron", "type": "object", "aliases": ["the boat"], "memory_ids": ["m1"]}],
    "sessionMemories": [
        {
            "id": "m1",
            "type": "detail",
            "content": "The boat is called Heron.",
            "importance": 3,
            "expiration": "session",
            "entities": ["e1", "gone"],
            "source_messages": [[2, 3]],
            "confidence": 0.9,
            "triggers": ["boat"],
        },
        {"id": "m2", "type": "revelation", "content": "The key is under a stone.", "superseded_by": "m3"},
        {"id": "m3", "type": "revelation", "content": "The key is under the third stone.", "source_messages": [[0, 1]]},
        {"id": "m4", "type": "detail", "content": "  "},
    ],
    "sceneHistory": [
        {"summary": "They speak of the key.", "ts": START + 90_000},
        {"summary": "Nobody knows when.", "ts": 0},
    ],
    "storyArcs": [{"content": "Will they find the key?"}, {"content": "Who owns the boat?", "persistent": True}],
    "arcSummaries": [{"arc": "Who locked the gate?", "summary": "The warden did."}],
    "profiles": {"Mira": {"character_state": "Goals: the key"}, "Nobody": {"world_state": "far away"}},
    "state_ledger": {
        "mira|character": {"_name": "Mira", "outfit_disguise": "a grey coat", "mood": "tense"},
        "x|y": {"mood": "odd"},
    },
}


def test_documents_of_smart_memory_become_memories_and_layers() -> None:
    result = take_in({"smartMemory": SMART})
    (chat,) = result.chats
    memories = {memory.text: memory for memory in rows(Memory, chat)}
    boat = memories["The boat is called Heron."]
    assert (boat.tier, boat.kind, boat.importance, boat.confidence) == ("session", "detail", 3, 0.9)
    assert (boat.triggers, boat.entity_names) == (["boat"], ["Heron"])
    assert [source.message.index for source in boat.sources.all()] == [2, 3]
    old, new = memories["The key is under a stone."], memories["The key is under the third stone."]
    assert (old.state, old.superseded_by) == ("superseded", new)
    assert memories["Nobody knows when."].kind == "scene"
    assert {entity.name: entity.aliases for entity in Entity.objects.for_owner(chat.owner_id)} == {
        "Heron": ["the boat"],
        "Mira": [],
    }
    assert {(arc.text, arc.state, arc.persistent, arc.summary) for arc in rows(Arc, chat)} == {
        ("Will they find the key?", "open", False, ""),
        ("Who owns the boat?", "open", True, ""),
        ("Who locked the gate?", "resolved", False, "The warden did."),
    }
    assert [(scene.start, scene.end, scene.recap) for scene in finished_scenes(chat)] == [
        (0, 1, "They speak of the key.")
    ]
    texts = {(text.kind, text.text, text.source.index) for text in rows(VersionedText, chat)}
    assert texts == {("summary", "Alice and Mira plan a heist.", 1), ("profile", "Goals: the key", 3)}
    assert set(rows(LedgerEntry, chat).values_list("field", "value")) == {("outfit", "a grey coat"), ("mood", "tense")}
    assert chat.metadata["smartMemory"] == SMART
    report = " ".join(result.report.warnings)
    for said in ("4 memories", "2 names", "3 arcs", "1 scenes", "2 texts", "2 states", "“Nobody”", "without a text"):
        assert said in report


GRAPH = {
    "nodes": [
        {
            "id": "n1",
            "type": "event",
            "fields": {"title": "The bargain", "summary": "Mira sells the map to the warden.", "participants": "Mira"},
            "importance": 9,
            "seqRange": [0, 1],
        },
        {"id": "n2", "type": "character", "fields": {"name": "The warden", "traits": "proud", "goal": "the map"}},
        {"id": "n3", "type": "location", "fields": {"name": "Old mill", "features": "a wheel without water"}},
        {"id": "n4", "type": "rule", "fields": {"title": "Oath", "constraint": "Nobody lies under the oak."}},
        {"id": "n5", "type": "thread", "fields": {"title": "The debt", "summary": "Paid.", "status": "completed"}},
        {"id": "n6", "type": "event", "fields": {"summary": "archived"}, "archived": True},
        {"id": "n7", "type": "event", "fields": {"summary": "deleted"}, "updatedAt": 5},
        {
            "id": "n8",
            "type": "pov_memory",
            "fields": {"summary": "the map is a copy", "certainty": "mistaken"},
            "scope": {"layer": "pov", "ownerType": "character", "ownerName": "Mira"},
        },
    ],
    "edges": [{"id": "x", "fromId": "n2", "toId": "n1", "relation": "involved_in"}],
    "tombstones": [{"id": "node:n7", "kind": "node", "targetId": "n7", "deletedAt": 6}],
}
RECALL = {
    "version": 1,
    "injectionText": "Mira sold the map.",
    "selectedNodeIds": ["n1", "gone"],
    "manuallyEdited": True,
    "createdAt": "2024-05-01T10:00:00.000Z",
}


@pytest.mark.parametrize("stored", [GRAPH, json.dumps(GRAPH), {"snapshot": GRAPH}])
def test_a_graph_of_st_bme_and_its_recalls_become_memories_and_cards(stored: Any) -> None:
    (chat,) = take_in(
        {"st_bme_graph": stored},
        line(4, "And the map?", bme_recall=RECALL),
        line(5, "Sold."),
        line(6, "To whom?", bme_recall={"injectionText": ""}),
    ).chats
    memories = {memory.text: memory for memory in rows(Memory, chat)}
    assert set(memories) == {
        "Mira sells the map to the warden.",
        "The warden: proud",
        "Old mill: a wheel without water",
        "Oath: Nobody lies under the oak.",
    }
    sold = memories["Mira sells the map to the warden."]
    assert (sold.kind, sold.importance, sorted(sold.entity_names)) == ("development", 3, ["Mira", "The warden"])
    assert memories["Oath: Nobody lies under the oak."].tier == "long_term"
    assert list(rows(Arc, chat).values_list("text", "state", "summary")) == [("The debt", "resolved", "Paid.")]
    assert list(chat.knowledge.for_owner(chat.owner_id).values_list("kind", "subject__name", "text")) == [
        ("believes", "Mira", "the map is a copy")
    ]
    (recall,) = rows(Recall, chat)
    assert (recall.text, recall.edited, recall.message.index) == ("Mira sold the map.", True, 4)
    assert f"{recall.created_at:%Y-%m-%d %H:%M}" == "2024-05-01 10:00"
    assert [item["id"] for item in recall.memories] == [str(sold.pk)]
    assert ensure_recall(chat.owner_id, chat.pk, recall.message_id) == recall


def test_a_recall_made_for_another_text_does_not_hold_for_this_one() -> None:
    (chat,) = take_in({}, line(4, "And the map?", bme_recall={**RECALL, "boundUserFloorText": "And the boat?"})).chats
    (recall,) = rows(Recall, chat)
    assert ensure_recall(chat.owner_id, chat.pk, recall.message_id).text != "Mira sold the map."


def test_importing_the_same_chat_twice_does_not_double_what_its_character_knows() -> None:
    alice = UserFactory()
    graph = {"nodes": [{"id": "r", "type": "rule", "fields": {"constraint": "Nobody lies under the oak."}}]}
    for _ in range(2):
        result = take_in({"st_bme_graph": graph}, owner=alice)
    assert Memory.objects.for_owner(alice).count() == 1
    assert "1 known already" in " ".join(result.report.warnings)


def test_a_file_that_updates_a_chat_brings_what_its_documents_have_learnt_since() -> None:
    alice = UserFactory()
    (chat,) = take_in({"smartMemory": SMART}, owner=alice).chats
    told = set(rows(Memory, chat).values_list("text", flat=True))
    rows(Memory, chat).filter(text="Nobody knows when.").update(state="retired", retired_reason="by_hand")
    learnt = {"id": "m5", "type": "detail", "content": "The gate was left open.", "source_messages": [[4, 4]]}
    document = SMART | {"sessionMemories": [*SMART["sessionMemories"], learnt]}
    recall = {"injectionText": "The gate was left open."}
    more = line(4, "And the gate?", bme_recall=recall)
    result = take_in({"smartMemory": document}, more, owner=alice, existing="update")
    assert [updated.pk for updated in result.chats] == [chat.pk]
    assert {*rows(Memory, chat).values_list("text", flat=True)} == {*told, "The gate was left open."}
    assert rows(Memory, chat).count() == len(told) + 1
    assert rows(Memory, chat).get(text="Nobody knows when.").state == "retired"
    assert rows(Memory, chat).get(text="The gate was left open.").valid_from.mes == "And the gate?"
    assert (rows(Arc, chat).count(), rows(VersionedText, chat).count(), rows(LedgerEntry, chat).count()) == (3, 2, 2)
    assert [scene.recap for scene in finished_scenes(chat)] == ["They speak of the key."]
    assert rows(Recall, chat).get().text == "The gate was left open."
    assert "read 1 memories; 4 known already." in " ".join(result.report.warnings)


def test_in_a_group_only_those_named_as_witnesses_know_a_memory() -> None:
    memory = {"type": "detail", "content": "Bo hid the ring.", "witnessed_by": ["Bo"]}
    unknown = {"type": "detail", "content": "Someone else saw it.", "witnessed_by": ["Someone"]}
    lines = [
        {"user_name": "Alice", "chat_metadata": {"smartMemory": {"sessionMemories": [memory, unknown]}}},
        {"name": "Alice", "is_user": True, "mes": "Hello."},
        {"name": "Bo", "is_user": False, "mes": "Hello."},
        {"name": "Cleo", "is_user": False, "mes": "Hello."},
    ]
    file = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
    (chat,) = import_chats(UserFactory(), file, filename="group.jsonl").chats
    members = {member.pk: member.name for member in chat.participants.all()}
    known_to = {row.text: [members.get(pk) for pk in row.witnessed_by] for row in rows(Memory, chat)}
    assert known_to == {"Bo hid the ring.": ["Bo"], "Someone else saw it.": [None]}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)
KEYS = sorted({*SMART, *GRAPH, *GRAPH["nodes"][0], *SMART["sessionMemories"][0], "seqRange", "scope"})
DAMAGED = st.dictionaries(
    st.sampled_from(KEYS),
    JSON | st.lists(st.dictionaries(st.sampled_from(KEYS), JSON, max_size=6), max_size=3),
    max_size=6,
)


@settings(max_examples=WITH_DATABASE, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(document=DAMAGED, recall=JSON)
def test_a_damaged_document_never_keeps_a_chat_from_being_imported(document: Any, recall: Any) -> None:
    metadata = {"smartMemory": document, "st_bme_graph": {"nodes": [], **document}}
    file_line = line(4, "And the map?", bme_recall=recall)
    metadata, file_line = json.loads(json.dumps([metadata, file_line]).replace("\\u0000", ""))
    (chat,) = take_in(metadata, file_line).chats
    assert chat.message_count == 5


def test_memories_of_another_owner_with_the_same_character_stay_apart() -> None:
    alice, bob = UserFactory(), UserFactory()
    theirs = make_chat(bob, "Hello.", character=make_character(bob, "Mira"))
    (chat,) = take_in({"smartMemory": SMART}, owner=alice).chats
    assert not Memory.objects.for_owner(bob).exists()
    assert chat.character_id != theirs.character_id
