"""One character: every tier is stored with where it came from, at the right time, once."""

from typing import Any

from apps.accounts.models import User
from apps.memories.models import Arc, Entity, Knowledge, LedgerEntry, Memory, Relationship, Scene, VersionedText
from tests.extraction.engine import storyteller
from tests.extraction.engine.conftest import tune
from tests.extraction.engine.layers import sources_of, state_hash, texts
from tests.extraction.engine.story import STORY, append, read, settle, states, tell
from tests.llm.scripted_server import ScriptedServer


def row(model: Any, owner: User, **filters: Any) -> Any:
    return model.objects.for_owner(owner).get(**filters)


def test_every_tier_is_stored_with_where_it_came_from(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner, *STORY)
    tune(chat, chunk=5)
    run = read(chat)
    assert (run.state, run.error, run.done) == ("succeeded", "", run.total)

    assert texts(chat, tier="session") == [
        "Alice and Mira agreed to share the reward.", "Alice carries a brass key.", "Tom never left the island.",
    ]  # fmt: skip
    assert texts(chat, tier="long_term") == [
        "Alice loves strong coffee.", "Mira lives in Marrow now.", "Tom sold the ferry.",
    ]  # fmt: skip
    memories = {memory.text: memory for memory in Memory.objects.for_owner(owner)}
    assert {text: sources_of(memory) for text, memory in memories.items()} == {
        "Mira lives in Port Salt.": [0],
        "Alice carries a brass key.": [1],
        "Tom sold the ferry.": [3],
        "Alice and Mira agreed to share the reward.": [3],
        "Alice loves strong coffee.": [4],
        "Mira lives in Marrow now.": [7],
        "Tom never left the island.": [8],
    }
    old, new = memories["Mira lives in Port Salt."], memories["Mira lives in Marrow now."]
    assert (old.state, old.superseded_by, old.valid_to) == ("superseded", new, new.valid_from)
    assert new.importance == 3
    assert {"keepsake", "voyage", "marrow"} <= set(new.triggers)
    assert [entity.name for entity in new.entities.all()] == ["Mira"]

    arc = row(Arc, owner)
    assert (arc.text, arc.state) == ("Mira is looking for her brother Tom.", "resolved")
    assert (arc.source.index, arc.until.index) == (1, 7)
    assert arc.summary == "It came to its end: Mira is looking for her brother Tom."
    scenes = Scene.objects.for_owner(owner).order_by("source__index")
    assert [(scene.source.index, scene.recap) for scene in scenes] == [
        (5, "They talked from turn 0 to turn 5, and then they left."),
        (8, "They talked from turn 6 to turn 8, and then they left."),
    ]
    ledger = LedgerEntry.objects.for_owner(owner).order_by("pk")
    assert [(one.field, one.value, one.state, one.source.index) for one in ledger] == [
        ("location", "harbour", "replaced", 2), ("mood", "calm", "cleared", 2), ("location", "quay", "current", 6),
    ]  # fmt: skip
    knowledge = Knowledge.objects.for_owner(owner).order_by("pk")
    assert [(one.kind, one.subject.name, one.text, one.state, one.source.index) for one in knowledge] == [
        ("knows", "Mira", "The ferry was sold.", "active", 3),
        ("hiding", "Mira", "The key opens the chart room.", "active", 5),
    ]  # fmt: skip
    stands = Relationship.objects.for_owner(owner).order_by("pk")
    assert [(one.descriptor, one.state, one.source.index) for one in stands] == [
        ("wary", "removed", 0), ("warm", "current", 5),
    ]  # fmt: skip
    assert {digest.kind for digest in VersionedText.objects.for_owner(owner)} == {"profile", "canon", "continuity"}
    assert Entity.objects.for_owner(owner).filter(name="Mira").count() == 1
    assert run.calls.count() == len(server.of_kind("generation"))
    assert run.llm["prompt_tokens"] == 11 * run.calls.count()


def test_the_summary_is_extended_and_what_is_current_is_never_cut(
    owner: User, connect: Any, server: ScriptedServer
) -> None:
    connect(owner, name="Small", context_tokens=1024)
    chat = tell(owner, *(f"They walked on along the shore for the {n}th hour. " * 8 for n in range(12)))
    tune(chat, summary_share=0.3, summary_tokens=200, summary_keep=2, chunk=4)
    read(chat)
    summaries = list(VersionedText.objects.for_owner(owner).filter(kind="summary").order_by("version"))
    assert len(summaries) > 1
    assert {one.state for one in summaries[:-1]} == {"replaced"}
    current = summaries[-1]
    assert (current.state, current.parts["messages"]) == ("current", current.source.index + 1)
    assert current.source.index <= 9
    told = ", ".join(f"turn {n}" for n in range(current.source.index + 1))
    assert current.parts["sections"]["3"].endswith(told)
    assert all(one.text for one in summaries)


def test_a_run_comes_every_few_messages_and_leaves_the_newest_reply(owner: User, server: ScriptedServer) -> None:
    chat = tell(owner)
    tune(chat, extract_every=3, continuity=False)  # which runs after every reply
    seen: list[int] = []
    for number in range(9):
        append(chat, f"FACT(2): Mira owns boat number {number + 10}.", is_user=number % 2 == 0)
        for run in settle(chat):
            assert run.state == "succeeded"
            assert run.last is not None
            seen.append(run.last.index)
    assert seen == [2, 6] or seen == [2, 5, 8]
    read_by = [set(storyteller.turns_in(one)) for one in server.requests if storyteller.task_of(one) == "long_term"]
    assert sum(map(len, read_by)) == len(set().union(*read_by)), "a message was read twice"


def test_the_same_text_read_again_changes_nothing_in_any_tier(owner: User) -> None:
    chat = tell(owner, *STORY)
    tune(chat, chunk=8)
    read(chat)
    before = state_hash(chat)
    again = read(chat, from_index=0, tiers=["scenes", "epistemic", "session", "long_term", "arcs", "ledger"])
    assert again.state == "succeeded"
    assert state_hash(chat) == before
    assert set(again.counts) - {name for name, count in again.counts.items() if not count} <= {
        "reconfirmed", "rejected",
    }  # fmt: skip
    assert states(settle(chat)) == []
    assert state_hash(chat) == before


def test_in_windows_as_at_once(owner: User) -> None:
    chat, other = tell(owner, *STORY), tell(owner, *STORY)
    tune(other, chunk=5)
    tune(chat, chunk=len(STORY))
    read(chat)
    read(other)
    assert texts(other, tier="session") == texts(chat, tier="session")
    assert texts(other, tier="long_term") == texts(chat, tier="long_term")
    ledger = [
        sorted(LedgerEntry.objects.for_owner(owner).filter(chat=one, state="current").values_list("field", "value"))
        for one in (chat, other)
    ]
    assert ledger[0] == ledger[1] == [("location", "quay")]
