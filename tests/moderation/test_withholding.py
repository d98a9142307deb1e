"""What moderators hide stays hidden from models through snapshots, undo and branches; what its owner hid, too."""

from collections.abc import Callable
from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.locking import Guard
from apps.chats.models import Chat, Lorebook, Message, Persona
from apps.chats.operations import Patch, branch_chat, patch_messages, undo_change
from apps.chats.operations.lorebooks import create_lorebook
from apps.chats.operations.personas import create_persona
from apps.common.problems import Conflict
from apps.exchange.memories.importing import import_lorebook
from apps.memories.models import Memory
from apps.moderation.models import Case
from apps.moderation.operations.decisions import decide, reverse, undo
from apps.moderation.operations.reports import report
from apps.moderation.targets import find_target
from tests.contract.conftest import client_of
from tests.factories import make_character, make_memory
from tests.moderation.conftest import SECRET
from tests.prompts.requests import assemble_whole
from tests.snapshots.making import made, restored

Hide = Callable[[str, Any], Case]
BOOK = {"name": "Places", "entries": [{"keys": ["well"], "content": "A body lies in the well.", "enabled": True}]}


@pytest.fixture
def hide(alice: User, moderator: User) -> Hide:
    """Report a thing and have a moderator hide it."""

    def hide(kind: str, row: Any) -> Case:
        case = report(alice, find_target(alice, kind, row.pk), reason="other").case
        return decide(moderator, case.pk, "hide", reason="It is against rule 3.")

    return hide


def is_withheld(row: Any) -> bool:
    return type(row)._base_manager.get(pk=row.pk).withheld


def with_everything(alice: User, chat: Chat) -> dict[str, Any]:
    """One thing of each kind, used in the chat."""
    persona = create_persona(alice, name="Alice", description="She carries a knife.")
    character = make_character(alice, "Mira", description="She hides a letter.")
    book = create_lorebook(alice, name="Places", chat=chat, document=BOOK)
    Chat.objects.for_owner(alice).filter(pk=chat.pk).update(persona=persona, character=character)
    return {
        "persona": persona,
        "character": character,
        "lorebook": book,
        "memory": make_memory(chat, "It is in the well."),
        "message": Message.objects.for_owner(alice).get(chat=chat, index=1),
    }


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("scope", ["account", "chat"])
def test_a_restored_snapshot_brings_nothing_back_that_is_hidden(
    alice: User, chat: Chat, moderator: User, hide: Hide, scope: str
) -> None:
    things = with_everything(alice, chat)
    in_chat = None if scope == "account" else chat
    before = made(alice, in_chat)
    cases = [hide(kind, row) for kind, row in things.items()]
    hidden = made(alice, in_chat)
    restored(before)
    assert {kind: is_withheld(row) for kind, row in things.items()} == dict.fromkeys(things, True)
    assert Memory.objects.for_owner(alice).get(pk=things["memory"].pk).hidden

    for case in cases:
        reverse(moderator, case.pk, reason="So be it.")
    restored(hidden)
    assert {kind: is_withheld(row) for kind, row in things.items()} == dict.fromkeys(things, False)
    assert not Memory.objects.for_owner(alice).get(pk=things["memory"].pk).hidden


def guard_of(chat: Chat) -> Guard:
    return Guard(Chat.objects.for_owner(chat.owner_id).get(pk=chat.pk).integrity)


def test_an_undo_brings_nothing_back_that_is_hidden(alice: User, chat: Chat, message: Message, hide: Hide) -> None:
    branch = branch_chat(alice, chat.pk, 1)
    copy = Message.objects.for_owner(alice).get(chat=branch, index=1)
    patch_messages(alice, chat.pk, [Patch(id=message.pk, values={"is_system": True})], guard_of(chat))
    hide("message", message)
    undo_change(alice, chat.pk, guard_of(chat))
    assert is_withheld(message)
    for row in (message, copy):
        home = Chat.objects.for_owner(alice).get(pk=row.chat_id)
        patch_messages(alice, home.pk, [Patch(id=row.pk, delete=True)], guard_of(home))
        undo_change(alice, home.pk, guard_of(home))
        assert is_withheld(row)


def test_an_undo_in_a_branch_brings_nothing_back_that_was_hidden_in_its_parent(
    alice: User, chat: Chat, message: Message, hide: Hide
) -> None:
    branch = branch_chat(alice, chat.pk, 2)
    copy = Message.objects.for_owner(alice).get(chat=branch, index=1)
    patch_messages(alice, branch.pk, [Patch(id=copy.pk, delete=True)], guard_of(branch))
    hide("message", message)
    undo_change(alice, branch.pk, guard_of(branch))
    assert is_withheld(copy)


def test_an_undo_hides_nothing_whose_decision_was_taken_back(
    alice: User, chat: Chat, message: Message, moderator: User, hide: Hide
) -> None:
    case = hide("message", message)
    patch_messages(alice, chat.pk, [Patch(id=message.pk, delete=True)], guard_of(chat))
    reverse(moderator, case.pk, reason="So be it.")
    undo_change(alice, chat.pk, guard_of(chat))
    assert not is_withheld(message)


@pytest.mark.parametrize("branched", ["before", "after"])
def test_copies_of_a_message_that_is_gone_are_given_back(
    alice: User, chat: Chat, message: Message, moderator: User, hide: Hide, branched: str
) -> None:
    branch = branch_chat(alice, chat.pk, 2) if branched == "before" else None
    case = hide("message", message)
    branch = branch or branch_chat(alice, chat.pk, 2)
    copy = Message.objects.for_owner(alice).get(chat=branch, index=1)
    patch_messages(alice, chat.pk, [Patch(id=message.pk, delete=True)], guard_of(chat))
    assert is_withheld(copy)
    reverse(moderator, case.pk, reason="So be it.")
    assert not is_withheld(copy)


def test_a_memory_that_was_learnt_again_is_hidden_and_given_back_with_the_first(
    alice: User, chat: Chat, moderator: User, hide: Hide
) -> None:
    first, again, other = (make_memory(chat, "It is in the well.", candidate_hash=name) for name in ("a", "a", "b"))
    Memory.objects.for_owner(alice).filter(pk=first.pk).update(state=Memory.State.RETIRED)
    case = hide("memory", first)
    assert [is_withheld(row) for row in (first, again, other)] == [True, True, False]
    reverse(moderator, case.pk, reason="So be it.")
    assert not is_withheld(again)
    assert not Memory.objects.for_owner(alice).get(pk=again.pk).hidden


def test_a_message_that_is_hidden_while_it_is_deleted_stays_hidden(
    alice: User, chat: Chat, message: Message, moderator: User
) -> None:
    case = report(alice, find_target(alice, "message", message.pk), reason="other").case
    patch_messages(alice, chat.pk, [Patch(id=message.pk, delete=True)], guard_of(chat))
    decide(moderator, case.pk, "hide", reason="It is against rule 3.")
    undo_change(alice, chat.pk, guard_of(chat))
    assert is_withheld(message)


def test_branches_from_before_hide_what_is_hidden(
    alice: User, chat: Chat, message: Message, moderator: User, hide: Hide
) -> None:
    earlier = branch_chat(alice, chat.pk, 2)
    case = hide("message", message)
    later = branch_chat(alice, chat.pk, 2)

    def withheld(branch: Chat) -> list[str]:
        rows = Message.objects.for_owner(alice).filter(chat=branch, withheld=True).with_swipes()
        return [row.mes for row in rows]

    assert withheld(earlier) == withheld(later) == withheld(chat) == [SECRET]
    of_copy = hide("message", Message.objects.for_owner(alice).get(chat=earlier, index=1))
    reverse(moderator, case.pk, reason="So be it.")
    assert withheld(earlier) == withheld(chat) == [SECRET], "another decision hides it"
    reverse(moderator, of_copy.pk, reason="So be it.")
    assert withheld(earlier) == withheld(later) == withheld(chat) == []


def test_hidden_personas_and_lorebooks_are_in_no_prompt(alice: User, chat: Chat, moderator: User, hide: Hide) -> None:
    things = with_everything(alice, chat)
    texts = {"persona": "She carries a knife.", "lorebook": "A body lies in the well."}

    def prompt() -> str:
        fresh = Chat.objects.for_owner(alice).get(pk=chat.pk)
        return str(assemble_whole(fresh, text="What is in the well?", context_tokens=4000).messages)

    for kind, text in texts.items():
        assert text in prompt()
        case = hide(kind, things[kind])
        assert text not in prompt()
        if kind == "lorebook":
            with pytest.raises(Conflict, match="Moderators"):
                import_lorebook(alice, Lorebook.objects.for_owner(alice).get(pk=things[kind].pk), chat=chat)
        reverse(moderator, case.pk, reason="So be it.")
        assert text in prompt()


def test_a_persona_in_the_bin_is_hidden_too(alice: User, moderator: User) -> None:
    persona = create_persona(alice, name="Alice", description="She carries a knife.")
    case = report(alice, find_target(alice, "persona", persona.pk), reason="other").case
    Persona.objects.for_owner(alice).filter(pk=persona.pk).update(deleted_at="2026-01-01T00:00Z")
    decide(moderator, case.pk, "hide", reason="It is against rule 3.")
    assert is_withheld(persona)


@pytest.mark.parametrize("first", [0, 1])
def test_a_memory_that_its_owner_had_hidden_stays_hidden(
    alice: User, chat: Chat, moderator: User, hide: Hide, first: int
) -> None:
    own = make_memory(chat, "It is in the well.", hidden=True)
    cases = [hide("memory", own), hide("memory", own)]
    reverse(moderator, cases[first].pk, reason="So be it.")
    assert is_withheld(own)
    reverse(moderator, cases[1 - first].pk, reason="So be it.")
    own.refresh_from_db()
    assert (own.withheld, own.hidden) == (False, True)


def test_a_memory_that_its_owner_shows_after_an_undo_is_shown_again(
    alice: User, chat: Chat, moderator: User, hide: Hide
) -> None:
    own = make_memory(chat, "It is in the well.", hidden=True)
    case = hide("memory", own)
    undo(moderator, case.pk)
    shown = client_of(alice).patch(f"/api/v1/memories/{own.pk}/", {"hidden": False}, format="json")
    assert shown.status_code == 200, shown.content
    decide(moderator, case.pk, "hide", reason="It is against rule 3.")
    reverse(moderator, case.pk, reason="So be it.")
    own.refresh_from_db()
    assert (own.withheld, own.hidden) == (False, False)
