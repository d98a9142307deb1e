"""A branch begins with what its parent remembered there, and goes its own way from then on."""

import pytest

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import append_messages, branch_chat
from apps.extraction import pipeline, runs
from apps.extraction.models import ExtractionProgress, ExtractionRun
from apps.memories.models import Inheritance, Memory
from apps.memories.operations.entities import get_or_create_entity
from apps.memories.operations.ledger import set_field
from apps.memories.queries.ledger import ledger_in
from apps.memories.search import SearchQuery, search
from tests.factories import UserFactory, make_character, make_chat, parsed

STORY = [
    "*Alice moved to a small flat in Paris in March with her brother Tom.*",
    "Mira Vale has worked as a pilot for the Salt Company for nine years.",
    "My sister Anna is married to a doctor from Lisbon.",
    "Mira hates the sea and loves strong black coffee in the morning.",
    "Fine.",
]
MOVE = "*Alice left Paris on the third of May and moved to Lyon without her brother Tom.*"


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


@pytest.fixture
def parent(owner: User) -> Chat:
    chat = make_chat(owner, *STORY, character=make_character(owner))
    extract(chat)
    return chat


def extract(chat: Chat) -> ExtractionRun:
    run, _ = runs.start_run(chat.owner_id, chat)
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
