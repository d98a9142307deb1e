"""A branch begins with what its parent remembered there, and goes its own way from then on."""

from collections.abc import Iterator
from typing import Any

import pytest
from pytest_django.plugin import DjangoDbBlocker

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.models import Chat
from apps.chats.operations import Patch, append_messages, branch_chat, patch_messages
from apps.common.problems import Invalid
from apps.extraction.models import ExtractionProgress, ExtractionRun
from apps.extraction.progress import invalidate_chat
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.memories.candidates import Candidate
from apps.memories.models import Inheritance, Memory, MemorySource
from apps.memories.operations.entities import get_or_create_entity
from apps.memories.operations.ledger import set_field
from apps.memories.operations.merging import is_merge, merge_by_hand, merge_memories, undo_merge
from apps.memories.operations.superseding import supersede
from apps.memories.operations.verdict_writing import VerdictBatch, write_verdicts
from apps.memories.queries.ledger import ledger_in
from apps.memories.queries.memories import active_memories
from apps.memories.verdicts.judging import Outcome, Verdict
from apps.memories.verdicts.neighbours import ComparisonScope, neighbours_by_words
from apps.search.service import SearchQuery, search
from tests.contract.conftest import client_of
from tests.database import stored_for_a_module
from tests.factories import UserFactory, make_character, make_chat, make_memory, parsed

STORY = [
    "*Alice moved to a small flat in Paris in March with her brother Tom.*",
    "Mira Vale has worked as a pilot for the Salt Company for nine years.",
    "My sister Anna is married to a doctor from Lisbon.",
    "Mira hates the sea and loves strong black coffee in the morning.",
    "Fine.",
]
MOVE = "*Alice left Paris on the third of May and moved to Lyon without her brother Tom.*"


@pytest.fixture(scope="module")
def stored_once(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[Chat]:
    """A chat that was read once for all tests."""
    with stored_for_a_module(django_db_blocker):
        owner = UserFactory()
        chat = make_chat(owner, *STORY, character=make_character(owner))
        extract(chat)
        yield chat


@pytest.fixture
def parent(stored_once: Chat, db: None) -> Chat:
    return Chat.objects.for_owner(stored_once.owner_id).select_related("owner", "character").get(pk=stored_once.pk)


@pytest.fixture
def owner(request: pytest.FixtureRequest, db: None) -> User:
    """The owner of ``parent``, where a test has it."""
    return request.getfixturevalue("parent").owner if "parent" in request.fixturenames else UserFactory()


def extract(chat: Chat) -> ExtractionRun:
    run, _ = start_run(chat.owner_id, chat)
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert run.state == "succeeded", run.error
    return run


def say(chat: Chat, *texts: str) -> None:
    append_messages(chat.owner_id, chat.pk, [parsed(text, is_user=True) for text in texts])
    chat.refresh_from_db()


def standing(chat: Chat) -> set[str]:
    return {memory.text for memory in Memory.objects.for_owner(chat.owner_id).active_in(chat)}


def branch_of(chat: Chat, at: int) -> Chat:
    return branch_chat(chat.owner_id, chat.pk, at)


def test_a_branch_begins_with_what_was_learnt_up_to_there(parent: Chat) -> None:
    branch = branch_of(parent, 1)
    assert any("Paris" in text for text in standing(branch))
    assert not any("Lisbon" in text for text in standing(branch))
    assert any("Lisbon" in text for text in standing(parent))
    assert not Memory.objects.for_owner(parent.owner_id).filter(chat=branch).exists()  # by reference


def test_what_was_read_of_the_parent_is_not_read_again(parent: Chat) -> None:
    branch = branch_of(parent, 3)
    assert ExtractionProgress.objects.for_owner(parent.owner_id).filter(chat=branch).count() == 4
    run = extract(branch)
    assert run.counts.get("passed", 0) == 0


def test_what_a_branch_replaces_its_parent_keeps(parent: Chat) -> None:
    branch = branch_of(parent, 4)
    say(branch, MOVE, "Yes.", "Well.")
    extract(branch)
    assert any("Lyon" in text for text in standing(branch))
    assert not any("flat in Paris" in text for text in standing(branch))
    assert any("flat in Paris" in text for text in standing(parent))
    assert not any("Lyon" in text for text in standing(parent))


def test_what_the_parent_learns_later_is_nothing_to_the_branch(parent: Chat) -> None:
    branch = branch_of(parent, 4)
    say(parent, MOVE, "Yes.", "Well.")
    extract(parent)
    assert any("flat in Paris" in text for text in standing(branch))
    assert not any("Lyon" in text for text in standing(branch))
    query = SearchQuery("Where does Alice live? Lyon", chat=branch.pk, character=branch.character_id)
    found = {result.memory.text for result in search(parent.owner_id, query).results if result.memory}
    assert found
    assert not any("Lyon" in text for text in found)


def test_a_branch_from_before_a_change_has_what_held_there(parent: Chat) -> None:
    say(parent, MOVE, "Yes.", "Well.")
    extract(parent)
    assert not any("flat in Paris" in text for text in standing(parent))
    early, late = branch_of(parent, 4), branch_of(parent, 6)
    assert any("flat in Paris" in text for text in standing(early))
    assert not any("flat in Paris" in text for text in standing(late))
    assert any("Lyon" in text for text in standing(late))


def test_a_branch_of_a_branch_inherits_what_was_inherited(parent: Chat) -> None:
    branch = branch_of(branch_of(parent, 4), 1)
    assert any("Paris" in text for text in standing(branch))
    assert not any("Lisbon" in text for text in standing(branch))


def test_a_deleted_branch_leaves_no_trace_in_its_parent(parent: Chat) -> None:
    before = standing(parent)
    branch = branch_of(parent, 4)
    branch.delete()
    assert standing(parent) == before
    assert not Inheritance.objects.for_owner(parent.owner_id).exists()


def of_tier(chat: Chat, tier: str = "long_term") -> set[str]:
    """What a run takes for known, consolidates, and makes profiles, canon and summaries of."""
    return {memory.text for memory in active_memories(chat, tier, chat.character_id)}


def test_runs_of_a_branch_know_what_it_inherited(owner: User, parent: Chat) -> None:
    make_memory(parent, "The lamp is broken.", tier="session", kind="detail")
    branch = branch_of(parent, 4)
    assert of_tier(branch) == of_tier(parent) != set()
    assert of_tier(branch, "session") >= {"The lamp is broken."}
    say(branch, MOVE, "Yes.", "Well.")
    extract(branch)
    assert not any("flat in Paris" in text for text in of_tier(branch))
    assert any("flat in Paris" in text for text in of_tier(parent))


def test_what_a_branch_confirms_is_confirmed_in_the_branch_alone(owner: User, parent: Chat) -> None:
    branch = branch_of(parent, 4)
    before = {memory.pk: memory.confidence for memory in Memory.objects.for_owner(owner)}
    sources = MemorySource.objects.for_owner(owner).count()
    [inherited] = Inheritance.objects.for_owner(owner).filter(chat=branch, memory__text__contains="Lisbon")
    message = branch.messages.with_swipes().get(index=4)
    said_again = Candidate(kind="fact", text=inherited.memory.text, sources=(1,))
    verdict = Verdict(said_again, Outcome.RECONFIRMED, target=inherited.memory_id)
    write_verdicts(VerdictBatch(branch, "long_term", {1: message}, [verdict]))
    confirmed = Inheritance.objects.for_owner(owner).get(pk=inherited.pk)
    assert message.pk in confirmed.message_ids
    assert confirmed.confidence == pytest.approx(inherited.confidence + 0.05)
    assert {memory.pk: memory.confidence for memory in Memory.objects.for_owner(owner)} == before
    assert MemorySource.objects.for_owner(owner).count() == sources
    assert not Memory.objects.for_owner(owner).exclude(unconfirmed=0).exists(), "nor does what it leaves unsaid decay"


def test_a_merge_in_a_branch_leaves_the_parents_memories(owner: User, parent: Chat) -> None:
    first, second = make_memory(parent, "Mira has an owl."), make_memory(parent, "The owl of Mira is white.")
    branch = branch_of(parent, 4)
    before = standing(parent)
    run, _ = start_run(owner, branch)
    assert merge_memories(branch, [first, second], "Mira has a white owl.", run_id=run.pk) == 2
    assert standing(parent) == before
    assert "Mira has a white owl." in standing(branch)
    assert not {first.text, second.text} & standing(branch)
    merged = Memory.objects.for_owner(owner).get(chat=branch)
    assert is_merge(merged)
    undo_merge(merged)
    assert {first.text, second.text} <= standing(branch)


def test_a_merge_in_a_branch_ends_with_an_inherited_source(owner: User, parent: Chat) -> None:
    [lisbon] = Memory.objects.for_owner(owner).filter(text__contains="Lisbon")
    other = make_memory(parent, "Anna lives in Lisbon.")
    branch = branch_of(parent, 4)
    run, _ = start_run(owner, branch)
    merge_memories(branch, [lisbon, other], "Anna lives with a doctor in Lisbon.", run_id=run.pk)
    patch_messages(owner, branch.pk, [Patch(index=2, values={"mes": "Never mind."})], Guard(optional=True))
    invalidate_chat(owner, branch.pk)
    assert not any("doctor" in text for text in standing(branch))
    assert other.text in standing(branch)


def test_what_a_branch_replaced_is_no_neighbour_of_new_statements_by_words(owner: User, parent: Chat) -> None:
    [paris] = Memory.objects.for_owner(owner).filter(text__contains="flat in Paris")
    branch = branch_of(parent, 4)
    supersede(branch, paris.pk, make_memory(branch, "Alice lives in Lyon."))
    [near], [nearest] = (
        neighbours_by_words(ComparisonScope(chat, "long_term"), ["x"], [], [paris.text]) for chat in (branch, parent)
    )
    assert paris.text not in {row.text for row in near}
    assert nearest[0].text == paris.text


def test_members_of_a_group_do_not_share_what_they_inherited(owner: User) -> None:
    chat = make_chat(owner, *STORY)
    mira, tom = make_character(owner), make_character(owner, name="Tom")
    make_memory(chat, "The key is hidden.", character=mira)
    branch = branch_of(chat, 1)
    known = [
        neighbours_by_words(ComparisonScope(branch, "long_term", one), ["x"], [], ["The key is hidden."])
        for one in (mira, tom)
    ]
    assert [len(rows) for [rows] in known] == [1, 0]


def test_memories_of_two_branches_cannot_be_merged(owner: User, parent: Chat) -> None:
    branch = branch_of(parent, 4)
    two = [make_memory(chat, "Mira has an owl.") for chat in (parent, branch)]
    with pytest.raises(Invalid):
        merge_by_hand(two, "Mira has two owls.", editor="alice")


def test_the_list_of_a_branch_has_what_it_inherited_as_it_stood(owner: User, parent: Chat) -> None:
    branch = branch_of(parent, 4)
    say(branch, MOVE, "Yes.", "Well.")
    extract(branch)
    client = client_of(owner)

    def listed(chat: Chat, **query: Any) -> list[dict[str, Any]]:
        return list(client.get("/api/v1/memories/", {"chat": str(chat.pk), **query}).json()["results"])

    def texts(*args: Any, **query: Any) -> str:
        return " ".join(row["text"] for row in listed(*args, **query))

    assert "flat in Paris" in texts(branch)
    assert "flat in Paris" not in texts(branch, state="active")
    assert "flat in Paris" in texts(branch, state="superseded")
    for state in ({}, {"state": "active"}):
        assert "flat in Paris" in texts(branch, at=4, **state)
        assert "Lyon" not in texts(branch, at=4, **state)
        assert "flat in Paris" not in texts(branch, at=5, **state)
        assert "Lyon" in texts(branch, at=5, **state)
    assert "flat in Paris" in texts(branch, at=5, state="superseded")
    assert "flat in Paris" not in texts(branch, at=4, state="superseded")
    assert "Lisbon" not in texts(branch, at=1)
    [moved] = [row for row in listed(branch, state="superseded") if "flat in Paris" in row["text"]]
    own = {str(pk) for pk in branch.messages.values_list("pk", flat=True)}
    assert {*moved["source_messages"], moved["valid_from"], moved["valid_to"]} <= own
    assert texts(parent, at=4) == texts(parent, state="active")


def test_what_was_retired_did_not_stand_at_any_message(owner: User, parent: Chat) -> None:
    make_memory(parent, "Never true.", state="retired", retired_reason="source_gone")
    reply = client_of(owner).get("/api/v1/memories/", {"chat": str(parent.pk), "at": 3})
    assert "Never true." not in {row["text"] for row in reply.json()["results"]}


def test_the_ledger_is_copied_as_it_stood(owner: User) -> None:
    chat = make_chat(owner, *STORY)
    first, later = chat.messages.with_swipes().order_by("index")[1], chat.messages.with_swipes().order_by("index")[3]
    mira = get_or_create_entity(chat, "Mira", "character")
    set_field(chat, mira, "location", "the harbour", first)
    set_field(chat, mira, "location", "the castle", later)
    branch = branch_of(chat, 2)
    [state] = ledger_in(branch)
    assert state.entity.chat_id == branch.pk
    assert [field.current.value for field in state.fields if field.current] == ["the harbour"]
    [theirs] = ledger_in(chat)
    assert [field.current.value for field in theirs.fields if field.current] == ["the castle"]
