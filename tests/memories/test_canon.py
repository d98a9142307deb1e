"""The canon of a character: a chat has its own, branches inherit it, and what a person writes reaches other stories."""

import pytest

from apps.accounts.models import User
from apps.chats.models import Character, Chat
from apps.chats.operations import branch_chat, delete_chat, purge_chat, restore_chat
from apps.extraction.runs import modes
from apps.memories.models import VersionedText
from apps.memories.operations.texts import NewVersion, edit_text, write_version
from apps.memories.queries.texts import current_version, versions_of
from tests.factories import UserFactory, make_character, make_chat, make_memory

CANON = VersionedText.Kind.CANON


@pytest.fixture
def mira(db: None) -> Character:
    return make_character(UserFactory())


@pytest.fixture
def owner(mira: Character) -> User:
    return mira.owner


@pytest.fixture
def chat(mira: Character) -> Chat:
    return make_chat(mira.owner, "Hello.", "Yes.", "Well.", "Fine.", character=mira)


def canon(chat: Chat) -> str | None:
    version = current_version(chat, CANON, chat.character)
    return version.text if version else None


def made_by_a_run(chat: Chat, text: str, at: int = 3) -> None:
    write_version(
        chat, CANON, NewVersion(text, last=chat.messages.with_swipes().get(index=at)), character=chat.character
    )


def written(chat: Chat, text: str) -> None:
    edit_text(chat, CANON, editor="alice", character=chat.character, text=text)


def next_chat(chat: Chat) -> Chat:
    return make_chat(chat.owner, "Hello.", "Yes.", character=chat.character, title="Next")


def test_a_branch_inherits_the_canon_that_was_made_before_it_and_goes_its_own_way(chat: Chat, owner: User) -> None:
    made_by_a_run(chat, "Nora lives in Paris.", at=1)
    branch, early = branch_chat(owner, chat.pk, 2), branch_chat(owner, chat.pk, 0)
    assert (canon(branch), canon(early)) == ("Nora lives in Paris.", None)
    made_by_a_run(branch, "Nora moved to Lyon.", at=2)
    written(early, "Nora never left Rome.")
    assert [canon(one) for one in (chat, branch, early)] == [
        "Nora lives in Paris.",
        "Nora moved to Lyon.",
        "Nora never left Rome.",
    ]


@pytest.mark.parametrize("how", [made_by_a_run, written])
def test_the_canon_of_a_branch_never_reaches_its_parent_or_siblings(chat: Chat, owner: User, how) -> None:
    branch, sibling = branch_chat(owner, chat.pk, 2), branch_chat(owner, chat.pk, 2)
    last = branch.messages.order_by("index").last()
    assert last is not None
    how(branch, "Nora moved to Lyon.", *([last.index] if how is made_by_a_run else []))
    for step in (lambda: None, lambda: delete_chat(branch, keep_memories=True), lambda: purge_chat(owner, branch.pk)):
        step()
        assert (canon(chat), canon(sibling)) == (None, None)


def test_a_canon_goes_into_the_bin_with_its_chat_and_comes_back(chat: Chat, owner: User, mira: Character) -> None:
    written(chat, "Nora lives in Paris.")
    other = next_chat(chat)
    assert canon(other) == "Nora lives in Paris."
    delete_chat(chat)
    assert canon(other) is None
    assert not versions_of(mira)
    restore_chat(owner, chat.pk)
    assert canon(other) == canon(chat) == "Nora lives in Paris."
    purge_chat(owner, chat.pk)
    assert canon(other) is None
    assert not VersionedText.objects.for_owner(owner).exists()


def test_the_canon_of_a_person_is_kept_with_what_the_character_learnt(chat: Chat, owner: User, mira: Character) -> None:
    other, branch = next_chat(chat), branch_chat(owner, chat.pk, 3)
    written(chat, "Nora lives in Paris.")
    written(branch, "Nora lives in Lyon.")
    for one in (chat, branch):
        delete_chat(one, keep_memories=True)
        assert canon(other) == "Nora lives in Lyon."
        purge_chat(owner, one.pk)
    assert canon(other) == "Nora lives in Lyon."
    assert [version.text for version in versions_of(mira).filter(state="current")] == ["Nora lives in Lyon."]


def test_another_story_takes_over_what_a_person_wrote_until_it_has_its_own(chat: Chat) -> None:
    other = next_chat(chat)
    made_by_a_run(chat, "Nora lives in Paris.")
    assert canon(other) is None, "what a run made may tell what only one branch of a story knows"
    written(chat, "Nora has a brother.")
    assert canon(other) == "Nora has a brother."
    written(other, "Nora has two brothers.")
    assert (canon(chat), canon(other)) == ("Nora has a brother.", "Nora has two brothers.")


def test_texts_of_other_stories_tell_no_longer_what_was_learnt_in_a_deleted_chat(chat: Chat, owner: User) -> None:
    other, third = next_chat(chat), next_chat(chat)
    made_by_a_run(third, "Nora has a dog.", at=1)  # before it was learnt
    make_memory(chat, "Nora lives in Paris.", character=chat.character)
    made_by_a_run(other, "Nora lives in Paris.", at=1)
    write_version(other, VersionedText.Kind.PROFILE, NewVersion("Nora is in Paris."), character=chat.character)
    delete_chat(chat, keep_memories=True)
    assert canon(other)
    restore_chat(owner, chat.pk)
    delete_chat(chat)
    assert (canon(other), canon(third)) == (None, "Nora has a dog.")
    assert current_version(other, VersionedText.Kind.PROFILE, chat.character) is None
    assert VersionedText.objects.for_owner(owner).filter(chat=other, state="replaced").count() == 2


def test_a_fresh_start_keeps_the_canon(chat: Chat, owner: User) -> None:
    written(chat, "Nora lives in Paris.")
    modes.start_fresh(owner, chat)
    assert canon(chat) == "Nora lives in Paris."
