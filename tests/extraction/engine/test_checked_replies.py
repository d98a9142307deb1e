"""In profile B every reply is compared with what is known, and a note for the next prompt repairs contradictions."""

from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.models import Character, Chat, Message
from apps.chats.operations import add_participant, append_messages, create_chat
from apps.extraction.models import ExtractionRun
from apps.extraction.prompts.rendering import set_template
from apps.extraction.settings.stores import change_settings
from apps.memories.models import VersionedText
from apps.memories.queries.texts import current_version
from tests.extraction.engine import storyteller
from tests.extraction.engine.story import append, edit, read, settle, swipe, tell
from tests.extraction.engine.test_replies import reply_to
from tests.factories import make_character, make_memory, parsed
from tests.llm.scripted_server import ScriptedServer

CHECK, NOTE = VersionedText.Kind.CONTINUITY, VersionedText.Kind.REPAIR


@pytest.fixture
def chat(owner: User) -> Chat:
    """Return a chat of which everything is read, in profile B with repair notes; runs are due after 50 messages."""
    change_settings(owner, dict.fromkeys(("summary", "scenes", "epistemic", "arcs", "ledger"), False))
    chat = tell(owner, "FACT(2): Tom sells boats.", "I see.", "Good.")
    read(chat)
    profile_b = {"profile": "B", "continuity_repair": True, "extract_every": 50}
    change_settings(owner, profile_b, chat=chat)
    settle(chat)
    return chat


def runs_of(found: list[ExtractionRun]) -> list[list[str]]:
    return [run.tiers for run in found]


def test_every_reply_is_checked_when_no_run_is_due_and_once(chat: Chat) -> None:
    for text in ("He waves.", "He sits."):
        append(chat, text)
        assert runs_of(settle(chat)) == [["continuity"]]
        assert settle(chat) == []
    append(chat, "Hm.", is_user=True)
    assert settle(chat) == []


def test_a_contradiction_leaves_a_note_and_the_next_checked_reply_has_none(chat: Chat) -> None:
    append(chat, "WRONG: Tom sells horses.")
    settle(chat)
    note = current_version(chat, NOTE)
    assert note is not None
    assert note.text == "Let it turn out that it was a mistake."
    append(chat, "He waves.")
    settle(chat)
    assert current_version(chat, NOTE) is None


def test_macros_of_the_card_are_names_where_a_reply_is_checked(chat: Chat, server: ScriptedServer) -> None:
    Character.objects.for_owner(chat.owner_id).update(description="{{char}} guards the well of <user>.")
    append(chat, "He waves.")
    server.requests.clear()
    settle(chat)
    asked = "".join(message["content"] for request in server.requests for message in request.messages)
    assert "Mira guards the well of Alice." in asked
    assert "{{char}}" not in asked


def test_another_version_of_a_reply_and_an_edited_one_are_checked_again(chat: Chat) -> None:
    append(chat, "WRONG: Tom sells horses.")
    settle(chat)
    swipe(chat, 3, "He waves.")
    assert runs_of(settle(chat)) == [["continuity"]]
    assert current_version(chat, NOTE) is None
    edit(chat, 3, "WRONG: Tom sells goats.")
    assert runs_of(settle(chat)) == [["continuity"]]
    assert current_version(chat, NOTE) is not None


@pytest.mark.parametrize("data", [{"extra": {"loci": {"partial": True}}}, {"extra": {"loci": {"leave_out": True}}}])
def test_a_reply_that_is_incomplete_or_left_out_is_not_checked(chat: Chat, data: dict[str, Any]) -> None:
    append(chat, "WRONG: Tom sells hor", **data)
    assert settle(chat) == []


def test_a_reply_that_moderators_withheld_is_not_checked(chat: Chat) -> None:
    append(chat, "WRONG: Tom sells horses.")
    Message.objects.for_owner(chat.owner_id).filter(chat=chat, index=3).update(withheld=True)
    assert settle(chat) == []


def test_profile_a_checks_nothing_by_itself(chat: Chat) -> None:
    change_settings(chat.owner_id, {"profile": "A"}, chat=chat)
    append(chat, "WRONG: Tom sells horses.")
    assert settle(chat) == []


def test_without_facts_a_reply_is_not_asked_about_again_and_again(owner: User) -> None:
    chat = tell(owner)
    change_settings(owner, {"profile": "B", "extract_every": 50}, chat=chat)
    append(chat, "He waves.")
    settle(chat)
    assert settle(chat) == []


RAMBLING = "What a wonderful scene! I think that Tom is a fascinating character, and the boats stand for freedom."


def test_remarks_instead_of_contradictions_are_refused_and_asked_for_again(chat: Chat, server: ScriptedServer) -> None:
    append(chat, "WRONG: Tom sells horses.")
    reply_to(server, "continuity", RAMBLING, times=1)
    (run,) = settle(chat)
    assert [bool(call.error) for call in run.calls.filter(task="continuity").order_by("pk")] == [True, False]
    assert current_version(chat, NOTE) is not None


def test_a_model_that_only_remarks_leaves_no_contradiction_and_is_not_asked_for_ever(
    chat: Chat, server: ScriptedServer
) -> None:
    before = current_version(chat, CHECK)
    append(chat, "WRONG: Tom sells horses.")
    reply_to(server, "continuity", RAMBLING)
    (run,) = settle(chat)
    assert run.steps.get(stage="continuity").error
    assert run.calls.filter(task="continuity").count() == 2
    assert (current_version(chat, CHECK), current_version(chat, NOTE)) == (before, None)
    assert settle(chat) == []


@pytest.mark.parametrize("kind", ["canon", "profiles"])
def test_a_text_in_another_form_becomes_no_canon_and_no_profile(kind: str, chat: Chat, server: ScriptedServer) -> None:
    shown = VersionedText.Kind.CANON if kind == "canon" else VersionedText.Kind.PROFILE
    before = current_version(chat, shown, chat.character)
    reply_to(server, kind, RAMBLING, times=2)
    run = read(chat, tiers=[kind])
    assert (run.state, bool(run.steps.get(stage=kind).error)) == ("succeeded", True)
    assert current_version(chat, shown, chat.character) == before
    reply_to(server, kind, RAMBLING, times=1)
    read(chat, tiers=[kind])
    after = current_version(chat, shown, chat.character)
    assert after is not None
    assert after != before
    assert "fascinating" not in after.text


def test_only_the_labelled_paragraphs_of_a_reply_are_the_canon(chat: Chat, server: ScriptedServer) -> None:
    written = "**Who:** Mira sells\nropes.\n\n### What happened\nShe left.\n\nWhere things stand: Well."
    reply_to(server, "canon", f"{RAMBLING}\n\n{written}\n\n{RAMBLING}")
    read(chat, tiers=["canon"])
    canon = current_version(chat, VersionedText.Kind.CANON, chat.character)
    assert canon is not None
    assert canon.text == "Who: Mira sells ropes.\n\nWhat happened: She left.\n\nWhere things stand: Well."


def test_a_prompt_of_the_user_may_ask_for_a_canon_without_labels(chat: Chat, server: ScriptedServer) -> None:
    set_template(chat.owner_id, "canon", "Praise {{subject}}:\n{{arcs}}\n{{memories}}")
    server.reply_with(lambda request: RAMBLING)
    read(chat, tiers=["canon"])
    canon = current_version(chat, VersionedText.Kind.CANON, chat.character)
    assert canon is not None
    assert canon.text == RAMBLING


def test_a_group_s_reply_is_compared_with_what_all_members_know(owner: User, server: ScriptedServer) -> None:
    chat = create_chat(owner, title="The council", user_name="Alice")
    ada, ben = (
        add_participant(owner, chat.pk, name=name, character=make_character(owner, name)) for name in ("Ada", "Ben")
    )
    append_messages(owner, chat.pk, [parsed("Well?", is_user=True), parsed("Yes.", name="Ada")])
    chat = Chat.objects.for_owner(owner).get(pk=chat.pk)
    make_memory(chat, "The mill has burned down.", tier="session", kind="development")
    make_memory(chat, "Ben stole the ledger.", tier="session", kind="revelation", witnessed_by=[ben.pk])
    make_memory(chat, "Ada is an orphan.", character=ada.character)
    change_settings(owner, {"profile": "B", "continuity_repair": True, "extract_every": 50}, chat=chat)
    append_messages(owner, chat.pk, [parsed("WRONG: The mill is as it was.", name="Ben")])
    settle(chat)
    (request,) = [one for one in server.requests if storyteller.task_of(one) == "continuity"]
    assert "burned down" in request.prompt
    assert "stole the ledger" not in request.prompt
    assert "orphan" not in request.prompt
    note = current_version(chat, NOTE)
    assert note is not None
    assert note.parts["for_all"] is True
