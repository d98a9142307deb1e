"""Documents of memory extensions in older, partial or contradictory forms lose nothing unsaid."""

import io
import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.chats.operations import branch_chat, delete_chat
from apps.exchange.chats.imports import ImportResult, import_chats
from apps.memories.models import Arc, Entity, Knowledge, Memory, VersionedText
from tests.contract.conftest import client_of
from tests.exchange.test_imported_chats import line, rows, take_in
from tests.exchange.test_memory_files import post_file
from tests.factories import UserFactory, make_character, make_chat

pytestmark = pytest.mark.django_db


def of_smart_memory(*memories: dict[str, Any], **document: Any) -> ImportResult:
    return take_in({"smartMemory": {"schema_version": 9, "sessionMemories": list(memories), **document}})


def said(text: str, key: str, **values: Any) -> dict[str, Any]:
    return {"id": key, "type": "detail", "content": text, **values}


def states(result: ImportResult) -> dict[str, str]:
    return {memory.text: memory.state for memory in rows(Memory, result.chats[0])}


def graph(*nodes: dict[str, Any], **others: Any) -> dict[str, Any]:
    return {"version": 9, "nodes": list(nodes), "edges": [], **others}


def event(key: Any, text: str, **values: Any) -> dict[str, Any]:
    return {"id": key, "type": "event", "fields": {"summary": text}, **values}


def texts(result: ImportResult) -> list[str]:
    return sorted(rows(Memory, result.chats[0]).values_list("text", flat=True))


def test_what_is_beyond_the_limits_of_a_list_or_a_text_is_told() -> None:
    result = of_smart_memory(said("x" * 20_001, "a"), *[{}] * 20_000)
    report = " ".join(result.report.warnings)
    assert "Of 20,001 entries in “sessionMemories” the first 20,000 were read." in report
    assert "Of each text in “content” the first 20,000 characters were read; one is longer." in report
    assert [len(text) for text in texts(result)] == [20_000]


def test_a_fact_that_holds_again_stays_active() -> None:
    result = of_smart_memory(
        said("Mira trusts Tom.", "a", superseded_by="b"),
        said("Mira no longer trusts Tom.", "b", superseded_by="c"),
        said("Mira trusts Tom.", "c"),
    )
    assert states(result) == {"Mira trusts Tom.": "active", "Mira no longer trusts Tom.": "superseded"}


def test_of_memories_that_replace_each_other_in_a_circle_one_holds() -> None:
    result = of_smart_memory(said("One.", "a", superseded_by="b"), said("Two.", "b", superseded_by="a"))
    assert sorted(states(result).values()) == ["active", "superseded"]
    (chat,) = result.chats
    branch = branch_chat(chat.owner_id, chat.pk, 3)
    for each in (chat, branch):
        delete_chat(each)


def test_a_replaced_memory_ends_where_its_successor_begins() -> None:
    result = of_smart_memory(
        said("One.", "a", superseded_by="b", source_messages=[[0, 0]]), said("Two.", "b", source_messages=[[2, 3]])
    )
    old = rows(Memory, result.chats[0]).get(text="One.")
    assert (old.valid_from.index, old.valid_to.index) == (0, 3)


def test_of_several_ranges_the_latest_is_the_source() -> None:
    result = of_smart_memory(said("One.", "a", source_messages=[[0, 0], [3, 3]]))
    memory = rows(Memory, result.chats[0]).get()
    assert [source.message.index for source in memory.sources.all()] == [3]


@pytest.mark.parametrize("value", [graph(event("a", "A \ud800 storm.")), {"snapshot": {"snapshot": "{cut"}}, "{cut"])
def test_a_graph_stored_as_text_is_checked_as_any_other(value: Any) -> None:
    stored = value if isinstance(value, str) else json.dumps(value)
    result = take_in({"st_bme_graph": stored})
    read = texts(result)
    assert bool(read) or any("could not be read" in warning for warning in result.report.warnings)


def test_nodes_without_a_text_for_an_id_are_all_read() -> None:
    assert texts(take_in({"st_bme_graph": graph(event(1, "One."), event(2, "Two."), event(None, "Three."))})) == [
        "One.",
        "Three.",
        "Two.",
    ]


@pytest.mark.parametrize(
    "document",
    [
        {"nodes": [], "shadowSnapshot": graph(event("a", "One."))},
        {"shadowSnapshot": {"chatId": "x", "serializedGraph": json.dumps(graph(event("a", "One.")))}},
    ],
)
def test_a_graph_is_recovered_from_its_copy(document: dict[str, Any]) -> None:
    assert texts(take_in({"st_bme_graph": document})) == ["One."]


def test_a_graph_of_an_older_version_keeps_its_positions() -> None:
    result = take_in({"st_bme_graph": graph(event("a", "One.", seq=2))})
    assert rows(Memory, result.chats[0]).get().valid_from.index == 2


def test_of_several_summaries_the_newest_is_kept_and_the_others_are_reported() -> None:
    synopsis = [
        {"id": key, "type": "synopsis", "fields": {"summary": text}, "seqRange": [0, last]}
        for key, text, last in (("a", "Short.", 1), ("b", "Long.", 3))
    ]
    result = take_in({"st_bme_graph": graph(*synopsis)})
    assert rows(VersionedText, result.chats[0]).get(state="current").text == "Long."
    assert any("there is one already" in warning for warning in result.report.warnings)


def test_the_summary_in_the_state_of_a_graph_is_read() -> None:
    entries = [
        {"text": "They met.", "messageRange": [0, 1], "status": "active"},
        {"text": "They folded.", "messageRange": [0, 1], "status": "folded"},
        {"text": "They left.", "messageRange": [2, 3]},
    ]
    result = take_in({"st_bme_graph": graph(event("a", "One."), summaryState={"entries": entries})})
    summary = rows(VersionedText, result.chats[0]).get()
    assert (summary.text, summary.source.index) == ("They met.\nThey left.", 3)


def test_positions_link_nothing_after_lines_that_could_not_be_read() -> None:
    document = {"smartMemory": {"sessionMemories": [said("One.", "a", source_messages=[[1, 1]])]}}
    head = {"user_name": "Alice", "character_name": "Mira", "chat_metadata": document}
    lines = [json.dumps(head), "{broken", json.dumps(line(0, "Where?")), json.dumps(line(1, "There."))]
    result = import_chats(UserFactory(), io.BytesIO("\n".join(lines).encode()), filename="heist.jsonl")
    assert result.report.skipped
    assert not rows(Memory, result.chats[0]).get().sources.exists()


def test_an_arc_keeps_what_it_is_when_its_summary_follows() -> None:
    result = of_smart_memory(
        storyArcs=[
            {"content": "Who owns the boat?", "persistent": True, "status": "resolved"},
            {"content": "Will they find the key?"},
        ],
        arcSummaries=[
            {"arc": "Who owns the boat?", "summary": "Mira."},
            {"arc": "Will they find the key?", "summary": "Not yet."},
        ],
    )
    arcs = {arc.text: (arc.persistent, arc.summary) for arc in rows(Arc, result.chats[0])}
    assert arcs["Who owns the boat?"] == (True, "Mira.")
    assert rows(Arc, result.chats[0]).get(text="Will they find the key?").state == "open"


@pytest.fixture
def api() -> APIClient:
    return client_of(UserFactory())


def test_settings_of_a_character_link_no_messages_of_the_chat_and_double_no_arc(api: APIClient) -> None:
    mira = make_character(api.user, "Mira")
    chats = [make_chat(api.user, "Hello.", "There.", character=mira) for _ in range(2)]
    document = {
        "memories": [
            {"id": "m", "type": "fact", "content": "One.", "source_messages": [[1, 1]], "triggers": ["Black Straße"]}
        ],
        "persistent_arcs": [{"content": "Who owns the boat?"}],
    }
    settings = {"extension_settings": {"smart_memory": {"characters": {"Mira": document}}}}
    for chat in chats:
        assert post_file(api, f"/api/v1/chats/{chat.pk}/memories/import/", settings).status_code == 201
    memory = Memory.objects.for_owner(api.user).get()
    assert not memory.sources.exists()
    assert memory.triggers == ["black", "straße"]
    assert Arc.objects.for_owner(api.user).count() == 1


def test_plain_keys_beside_regular_expressions_recall_and_keys_with_macros_do_not(api: APIClient) -> None:
    mira = make_character(api.user, "Mira")
    entries = {
        "0": {"uid": 0, "key": ["/dra.on/i", "dragon", "{{ user }}", "<CHAR>"], "content": "The dragon sleeps."},
    }
    url = f"/api/v1/characters/{mira.pk}/memories/import/"
    report = post_file(api, url, {"entries": entries}).data["report"]
    assert Memory.objects.for_owner(api.user).get().triggers == ["dragon", "mira"]
    assert any("macros" in warning for warning in report["warnings"])


def test_markdown_of_a_character_leaves_out_chats_in_the_bin(api: APIClient) -> None:
    mira = make_character(api.user, "Mira")
    kept, gone = (make_chat(api.user, "Hello.", character=mira) for _ in range(2))
    subject = Entity.objects.create(owner_id=api.user.pk, character=mira, name="Mira", kind="character")
    for chat, text in ((kept, "The gate is shut."), (gone, "The key is lost.")):
        Knowledge.objects.create(owner_id=api.user.pk, chat=chat, kind="knows", subject=subject, text=text)
    delete_chat(gone)
    response = api.get(f"/api/v1/characters/{mira.pk}/memories/export/?format=markdown")
    content = b"".join(response.streaming_content) if response.streaming else response.content
    assert b"The gate is shut." in content
    assert b"The key is lost." not in content
