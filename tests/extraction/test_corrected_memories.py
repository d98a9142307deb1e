"""What a person corrected stands: against the character's words, against a repetition, and against other people."""

import pytest

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.chats.operations import append_messages
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.memories.models import Memory
from apps.memories.operations import delete_memory, edit_memory
from tests.factories import UserFactory, make_character, make_chat, parsed
from tests.lanes import sampled
from tests.prompts.requests import assemble

OSAKA = "My sister Elena lives in Osaka with her husband Kenji."
KYOTO = "Alice: “My sister Elena lives in Kyoto with her husband Kenji.”"
ADA, BEN = "My friend Ada {}.", "My friend Ben {}."


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


def read(chat: Chat) -> None:
    run, made = start_run(chat.owner_id, chat, tiers=["session", "long_term"])
    assert made
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert run.state == run.State.SUCCEEDED


def say(chat: Chat, *texts: str, is_user: bool) -> None:
    """Append texts, with a last turn that lets the run read all of them, and read."""
    turns = [parsed(text, is_user=is_user) for text in texts]
    append_messages(chat.owner_id, chat.pk, [*turns, parsed("Well then.", is_user=True)])
    read(chat)


def told(owner: User, text: str = OSAKA) -> Chat:
    chat = make_chat(owner, text, "I see.", "Yes.", character=make_character(owner))
    read(chat)
    return chat


def active(owner: User, word: str) -> list[str]:
    rows = Memory.objects.for_owner(owner).active().filter(text__contains=word).order_by("pk")
    return list(rows.values_list("text", flat=True))


def corrected(owner: User) -> Chat:
    chat = told(owner)
    (memory,) = Memory.objects.for_owner(owner).filter(text__contains="Osaka")
    edit_memory(memory, editor="alice", text=KYOTO)
    return chat


@pytest.mark.parametrize(
    "text",
    sampled(
        [
            "As you told me, your sister Elena lives in Osaka with her husband Kenji.",
            "You said that your sister Elena lives in Osaka with her husband Kenji, and I remember it well.",
            "Elena lives in Osaka with her husband Kenji, of course.",
            "Elena, your sister, lives in Osaka with her husband Kenji.",
        ],
        2,
    ),
)
def test_the_character_does_not_bring_back_what_was_corrected(owner: User, text: str) -> None:
    chat = corrected(owner)
    say(chat, text, is_user=False)
    assert active(owner, "Elena") == [KYOTO]
    prompt = assemble(chat, text="Where is Elena?", character=None, context_tokens=8000, with_history=False)
    injected = "\n".join(slot.text for slot in prompt.slots if slot.slot.name in ("long_term", "session"))
    assert "Kyoto" in injected
    assert "Osaka" not in injected


@pytest.mark.parametrize(
    "text", sampled([OSAKA, "Elena still lives in Osaka.", "My sister Elena lives in Osaka with Kenji."], 2)
)
def test_a_repetition_does_not_replace_a_correction(owner: User, text: str) -> None:
    chat = corrected(owner)
    say(chat, text, is_user=True)
    assert active(owner, "Elena") == [KYOTO]


def test_a_change_that_the_person_tells_replaces_a_correction(owner: User) -> None:
    chat = corrected(owner)
    say(chat, "My sister Elena moved from Kyoto to Nara with her husband Kenji in May.", is_user=True)
    assert active(owner, "Kyoto") != [KYOTO]


def test_an_edit_that_was_undone_is_no_correction(owner: User) -> None:
    chat = corrected(owner)
    (memory,) = Memory.objects.for_owner(owner).filter(text=KYOTO)
    edit_memory(memory, editor="alice", text=f"Alice: “{OSAKA}”")
    assert memory.former_texts == []
    say(chat, OSAKA, is_user=True)
    assert active(owner, "Elena") == [f"Alice: “{OSAKA}”"]


def test_the_character_does_not_bring_back_what_was_deleted(owner: User) -> None:
    chat = told(owner)
    (memory,) = Memory.objects.for_owner(owner).filter(text__contains="Osaka")
    delete_memory(memory)
    say(chat, "Elena, your sister, lives in Osaka with her husband Kenji.", is_user=False)
    assert [row.text for row in Memory.objects.for_owner(owner).filter(deleted_at=None)] == []


def test_what_one_user_corrected_says_nothing_about_another_s(owner: User) -> None:
    corrected(owner)
    other = UserFactory()
    told(other)
    assert active(other, "Elena") == [f"Alice: “{OSAKA}”"]


@pytest.mark.parametrize(
    "text",
    sampled(
        [
            "Forget what I said about my sister Elena and her house in Osaka.",
            "Please forget that I told you about my brother Tom and the fire in Bonn.",
            "Actually, never mind what I said about Elena moving to Osaka in May.",
            "Can you delete what I said about my sister Elena and her husband?",
        ],
        2,
    ),
)
def test_a_request_to_forget_is_no_fact(owner: User, text: str) -> None:
    assert not Memory.objects.for_owner(told(owner, text).owner_id).exists()


@pytest.mark.parametrize(
    "said",
    sampled(
        [
            "lives in Bonn with two cats",
            "is allergic to peanuts and shellfish",
            "works as a nurse at the clinic in Bonn",
            "turned forty in March and got divorced in May",
            "plays the violin in an orchestra in Bonn",
            "is married to a doctor from Lisbon",
        ],
        2,
    ),
)
def test_what_is_said_of_two_people_stays_with_both(owner: User, said: str) -> None:
    chat = told(owner, ADA.format(said))
    say(chat, BEN.format(said), is_user=True)
    assert len(active(owner, "Ada")) == len(active(owner, "Ben")) == 1


def test_what_is_said_of_a_sister_and_a_brother_stays_with_both(owner: User) -> None:
    chat = told(owner, "My sister lives in Bonn and works as a nurse there.")
    say(chat, "My brother lives in Bonn and works as a nurse there.", is_user=True)
    assert len(active(owner, "sister")) == len(active(owner, "brother")) == 1


def test_what_a_character_tells_of_themselves_replaces_what_they_told_before(owner: User) -> None:
    chat = make_chat(owner, "Hello.", "I live in a small flat in Paris with my brother Tom.", "Yes.")
    read(chat)
    (memory,) = Memory.objects.for_owner(owner).filter(text__contains="Paris")
    say(chat, "I moved to Lyon with my brother Tom in May, and gave up the flat in Paris.", is_user=False)
    memory.refresh_from_db()
    assert (memory.state, memory.superseded_by is not None) == ("superseded", True)
