"""What a branch inherited ends in the branch when its text changes there, and stays as it was in the parent."""

import pytest

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.models import Chat
from apps.chats.operations import Patch, branch_chat, patch_messages
from apps.extraction.models import ExtractionRun
from apps.extraction.progress import invalidate_chat, record_read
from apps.memories.models import Inheritance, Memory
from apps.memories.operations.memories import link_sources
from apps.memories.operations.superseding import supersede
from tests.factories import UserFactory, make_character, make_chat, make_memory

TWICE, ONCE = "Mira lives in Paris.", "Mira has a red boat."


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


@pytest.fixture
def parent(owner: User) -> Chat:
    """A chat in which a run has learnt one thing from the first two messages, and another from the third."""
    chat = make_chat(
        owner, "I live in Paris.", "In Paris, yes.", "My boat is red.", "Is it?", character=make_character(owner)
    )
    run = ExtractionRun.objects.create(owner_id=owner.pk, chat=chat, state="succeeded")
    messages = list(chat.messages.with_swipes().order_by("index"))
    for text, sources in ((TWICE, messages[:2]), (ONCE, messages[2:3])):
        memory = make_memory(chat, text, run=run, valid_from=sources[0])
        link_sources(owner.pk, memory.pk, sources)
    record_read(chat, messages, ["long_term"])
    return chat


@pytest.fixture
def branch(parent: Chat) -> Chat:
    return branch_chat(parent.owner_id, parent.pk, at=3)


def edit(chat: Chat, *indexes: int) -> None:
    patches = [Patch({"mes": "Never mind."}, index=index) for index in indexes]
    patch_messages(chat.owner_id, chat.pk, patches, Guard(optional=True))
    invalidate_chat(chat.owner_id, chat.pk)


def active(chat: Chat) -> set[str]:
    return {memory.text for memory in Memory.objects.for_owner(chat.owner_id).active_in(chat)}


def test_a_memory_ends_when_the_last_of_its_messages_has_changed(parent: Chat, branch: Chat) -> None:
    edit(branch, 0)
    assert active(branch) == {TWICE, ONCE}
    edit(branch, 1)
    assert active(branch) == {ONCE}
    assert active(parent) == {TWICE, ONCE}
    row = Inheritance.objects.for_owner(branch.owner_id).get(chat=branch, memory__text=TWICE)
    assert (row.state, row.retired_reason) == ("retired", "source_changed")


def test_a_deleted_message_counts_as_changed(parent: Chat, branch: Chat) -> None:
    patch_messages(branch.owner_id, branch.pk, [Patch(index=2, delete=True)], Guard(optional=True))
    invalidate_chat(branch.owner_id, branch.pk)
    assert (active(branch), active(parent)) == ({TWICE}, {TWICE, ONCE})


def test_an_edit_in_the_parent_or_in_another_branch_changes_nothing_here(parent: Chat, branch: Chat) -> None:
    other = branch_chat(parent.owner_id, parent.pk, at=3)
    edit(parent, 2)
    edit(other, 0, 1)
    assert (active(parent), active(other), active(branch)) == ({TWICE}, {ONCE}, {TWICE, ONCE})


def test_what_it_had_replaced_in_the_branch_holds_again(owner: User, parent: Chat, branch: Chat) -> None:
    """Both were inherited, and one replaced the other in the branch alone."""
    old, new = (Memory.objects.for_owner(owner).get(text=text) for text in (TWICE, ONCE))
    supersede(branch, old.pk, new)
    assert (active(branch), active(parent)) == ({ONCE}, {TWICE, ONCE})
    edit(branch, 2)
    assert active(branch) == {TWICE}


@pytest.mark.parametrize("change", [{"edited_by": "alice@example.com"}, {"run": None}])
def test_what_a_person_wrote_or_corrected_stays(owner: User, branch: Chat, change: dict[str, object]) -> None:
    Memory.objects.for_owner(owner).filter(text=ONCE).update(**change)
    edit(branch, 2)
    assert active(branch) == {TWICE, ONCE}
