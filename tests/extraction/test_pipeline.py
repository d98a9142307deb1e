"""Runs: what they remember and replace, how they end, and that a killed worker costs nothing and doubles nothing."""

import datetime as dt
from typing import Any

import pytest
from django.utils import timezone

from apps.accounts.models import User
from apps.chats import operations as chat_operations
from apps.chats.locking import Guard
from apps.chats.models import Chat, Message
from apps.chats.operations.patches import Patch
from apps.common import jobs
from apps.extraction import tasks
from apps.extraction.models import ExtractionRun
from apps.extraction.runs import pipeline
from apps.extraction.runs.operations import start_run
from apps.extraction.runs.queries import is_due
from apps.extraction.runs.settling import invalidate_if_exists
from apps.extraction.settings.stores import change_settings
from apps.llm.backends import builtin
from apps.llm.generation import GenerationRequest
from apps.memories.models import Memory, MemorySource
from apps.memories.operations import delete_memory
from tests.factories import UserFactory, make_character, make_chat, make_memory, parsed

STORY = [
    "I live in a small flat in Paris, above a bakery, with my brother Tom.",
    "Mira Vale has worked as a pilot for the Salt Company for nine years.",
    "My sister Anna is married to a doctor from Lisbon.",
    "Mira hates the sea and loves strong black coffee in the morning.",
    "Hello there, how are you?",
    "Mira broke her left arm in the storm on Friday.",
    "I moved to Lyon on the third of May, and Tom stayed behind.",
    "The arm has healed, and Mira threw the bandage into the river.",
]


@pytest.fixture
def owner(db: None) -> User:
    return UserFactory()


def extract(chat: Chat, **options: Any) -> ExtractionRun:
    run, made = start_run(chat.owner_id, chat, **{"tiers": ["session", "long_term"]} | options)
    assert made
    pipeline.execute(run.pk)
    run.refresh_from_db()
    return run


def memories(chat: Chat, **filters: Any) -> list[Memory]:
    return list(Memory.objects.for_owner(chat.owner_id).filter(chat=chat, **filters).order_by("pk"))


def state_of(chat: Chat) -> list[tuple[Any, ...]]:
    return [
        (memory.pk, memory.text, memory.state, memory.superseded_by_id, memory.valid_from_id, memory.valid_to_id)
        for memory in memories(chat)
    ]


def append(chat: Chat, *texts: str, is_user: bool = False) -> None:
    messages = [parsed(text, is_user=is_user) for text in texts]
    chat_operations.append_messages(chat.owner_id, chat.pk, messages)


def test_a_run_remembers_with_sources_and_vectors(owner: User) -> None:
    chat = make_chat(owner, *STORY, "And now?", character=make_character(owner))
    run = extract(chat)
    assert (run.state, run.error, run.done) == ("succeeded", "", run.total)
    assert run.counts["passed"] + run.counts.get("superseded", 0) == len(memories(chat))
    assert run.llm["calls"] >= 2
    assert {memory.tier for memory in memories(chat)} == {"session", "long_term"}
    for memory in memories(chat):
        [source] = MemorySource.objects.for_owner(owner).filter(memory=memory).select_related("message")
        assert memory.valid_from == source.message
        assert memory.embedding is not None
        assert memory.confidence == 0.7
        words = memory.text.partition(": ")[2].strip("“”") or memory.text
        assert words in source.message.mes or memory.text in source.message.mes
    assert all(call.reply for call in run.calls.all())


def test_what_changed_is_replaced_and_linked_both_ways(owner: User) -> None:
    moves = (
        "*Mira moved to Paris in March with her brother Tom.*",
        "*Mira left Paris on the third of May and moved to Lyon without her brother Tom.*",
    )
    chat = make_chat(
        owner, "Hello there.", moves[0], "And then?", moves[1], "And now?", character=make_character(owner)
    )
    extract(chat)
    [home] = [memory for memory in memories(chat, tier="long_term") if "in March" in memory.text]
    assert home.state == Memory.State.SUPERSEDED
    assert home.superseded_by is not None
    assert "moved to Lyon" in home.superseded_by.text
    assert home.valid_to == home.superseded_by.valid_from


def test_the_same_text_read_again_changes_nothing(owner: User) -> None:
    chat = make_chat(owner, *STORY, "And now?", character=make_character(owner))
    extract(chat)
    before = state_of(chat)
    again = extract(chat, from_index=0)
    assert state_of(chat) == before
    assert set(again.counts) <= {"reconfirmed", "rejected"}
    assert again.counts["reconfirmed"] > 0
    confirmed = [memory for memory in memories(chat, state="active") if memory.confidence > 0.7]
    assert {(memory.confidence, memory.unconfirmed) for memory in confirmed} == {(0.75, 0)}


def test_the_newest_reply_waits_since_it_may_be_swiped(owner: User) -> None:
    chat = make_chat(owner, "Where do you live?", "I live in Oslo with my sister Anna.")
    extract(chat)
    assert memories(chat) == []
    append(chat, "Good to know.", is_user=True)
    extract(chat)
    assert any("Oslo" in memory.text for memory in memories(chat))


def test_hidden_messages_are_read_and_hiding_them_forgets_nothing(owner: User) -> None:
    chat = make_chat(owner)
    hidden = parsed("I live in Oslo with my sister Anna.", is_user=True, is_system=True)
    chat_operations.append_messages(owner, chat.pk, [hidden, parsed("All right.", is_user=True)])
    extract(chat)
    assert memories(chat, state="active")
    before = [memory.pk for memory in memories(chat, state="active")]
    shown = Patch(index=0, values={"is_system": False})
    chat_operations.patch_messages(owner, chat.pk, [shown], Guard(force=True))
    invalidate_if_exists(chat)
    assert not is_due(chat)
    assert [memory.pk for memory in memories(chat, state="active")] == before


def test_a_run_begins_where_the_last_one_ended(owner: User) -> None:
    chat = make_chat(owner, *STORY[:5])
    first = extract(chat)
    append(chat, "And I have a dog called Rex, from Hamburg.", "Fine.", is_user=True)
    second = extract(chat)
    assert second.first is not None
    assert first.last is not None
    assert second.first.index == first.last.index + 1
    assert any("Rex" in memory.text for memory in memories(chat))


def test_nothing_new_is_an_empty_success(owner: User) -> None:
    chat = make_chat(owner, *STORY[:5])
    extract(chat)
    run = extract(chat)
    assert (run.state, run.total, run.counts) == ("succeeded", 0, {})
    assert extract(make_chat(owner)).state == "succeeded"


def test_one_run_at_a_time(owner: User) -> None:
    chat = make_chat(owner, *STORY)
    first, made = start_run(owner, chat)
    again, made_again = start_run(owner, chat)
    assert (made, made_again, again) == (True, False, first)


def test_what_a_person_deleted_is_not_learnt_again(owner: User) -> None:
    chat = make_chat(owner, *STORY, "And now?")
    extract(chat)
    doomed = memories(chat, state="active")[0]
    delete_memory(doomed)
    extract(chat, from_index=0)
    again = [memory for memory in memories(chat, text=doomed.text, tier=doomed.tier) if memory.deleted_at is None]
    assert again == []


def test_what_a_person_corrected_stays_corrected(owner: User) -> None:
    from apps.memories.operations import edit_memory

    chat = make_chat(owner, *STORY, "And now?")
    extract(chat)
    mine = memories(chat, state="active", tier="long_term")[0]
    edit_memory(mine, editor=owner.email, text="Something else entirely, about a green boat.")
    count = len(memories(chat))
    extract(chat, from_index=0)
    mine.refresh_from_db()
    assert mine.text == "Something else entirely, about a green boat."
    assert mine.state == "active"
    assert len(memories(chat)) == count


def test_a_cancelled_run_stops_before_its_next_step(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = make_chat(owner, *STORY)
    run, _ = start_run(owner, chat, tiers=["session"])
    original = builtin._tasks["session"]

    def cancel_meanwhile(request: GenerationRequest) -> str:
        jobs.cancel(run)
        return original(request)

    monkeypatch.setitem(builtin._tasks, "session", cancel_meanwhile)
    pipeline.execute(run.pk)
    run.refresh_from_db()
    assert (run.state, run.done) == ("cancelled", 0)
    assert memories(chat) == []


def test_a_text_edited_while_it_is_read_is_read_again(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = make_chat(owner, "I live in Oslo with my sister Anna.", "I see.", "Yes.")
    original = builtin._tasks["session"]
    seen: list[str] = []

    def edit_meanwhile(request: GenerationRequest) -> str:
        seen.append(request.material["turns"][0]["text"])
        if len(seen) == 1:
            from apps.chats.models import Swipe

            first = Message.objects.for_owner(owner).get(chat=chat, index=0)
            Swipe.objects.for_owner(owner).filter(message=first).update(mes="I live in Rome with my sister Anna.")
            Message.objects.for_owner(owner).filter(pk=first.pk).update(rev=first.rev + 1)
        return original(request)

    monkeypatch.setitem(builtin._tasks, "session", edit_meanwhile)
    run = extract(chat)
    assert run.state == "succeeded"
    assert len(seen) == 2
    assert not any("Oslo" in memory.text for memory in memories(chat))
    assert any("Rome" in memory.text for memory in memories(chat))


def test_a_reply_that_cites_what_it_was_not_offered_teaches_nothing(
    owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    reply = "What now?\n[detail:2:session:source=77] Mira has a dog."
    monkeypatch.setitem(builtin._tasks, "session", lambda request: reply)
    chat = make_chat(owner, "Hello.", "Hm.", "Well.")
    run = extract(chat, tiers=["session"])
    step = run.steps.get(stage="session")
    assert memories(chat) == []
    assert [call.reply for call in run.calls.all()] == [reply]
    assert step.unused_lines == ["What now?", "Mira has a dog."]


def test_a_line_that_cites_nothing_comes_from_the_turn_that_says_most_of_it(
    owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(builtin._tasks, "session", lambda request: "[detail] Mira has a black cat called Rex.")
    chat = make_chat(owner, "Hello.", "I have a black cat. Her name is Rex.", "Well.")
    extract(chat, tiers=["session"])
    [memory] = memories(chat)
    assert memory.valid_from is not None
    assert memory.valid_from.index == 1


def test_a_failing_backend_lets_the_run_wait_and_keeps_what_was_done(
    owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    from apps.llm.generation import GenerationFailed

    def fail(request: GenerationRequest) -> str:
        raise GenerationFailed("The model did not answer.")

    monkeypatch.setitem(builtin._tasks, "long_term", fail)
    chat = make_chat(owner, *STORY)
    run = extract(chat)
    assert (run.state, run.error, run.done) == ("queued", "The model did not answer.", 2)
    assert run.is_waiting
    assert memories(chat, tier="session")
    monkeypatch.undo()
    pipeline.execute(jobs.resume(run).pk)
    run.refresh_from_db()
    assert (run.state, run.error) == ("succeeded", "")
    assert memories(chat, tier="long_term")


def test_caps_retire_nothing(owner: User) -> None:
    facts = [f"I have {n + 2} houses on Elm Street number {n * 7 + 3}, built in {1500 + n * 13}." for n in range(20)]
    chat = make_chat(owner, *facts, "And?", character=make_character(owner))
    change_settings(owner, {"long_term_cap": 4, "session_cap": 4})
    run = extract(chat)
    assert len(memories(chat)) == run.counts.get("passed", 0) + run.counts.get("superseded", 0)
    assert not memories(chat, state="retired")


def test_a_queue_that_lost_a_run_is_swept(owner: User, monkeypatch: pytest.MonkeyPatch) -> None:
    chat = make_chat(owner, *STORY)
    run, _ = start_run(owner, chat)
    sent: list[str] = []
    monkeypatch.setattr(tasks.run_extraction, "delay", lambda *, run_id: sent.append(run_id))
    tasks.sweep_runs()
    assert sent == []
    ExtractionRun.objects.for_owner(owner).update(created_at=timezone.now() - dt.timedelta(minutes=5))
    tasks.sweep_runs()
    assert sent == [str(run.pk)]


@pytest.mark.explore
def test_a_message_of_more_than_200_000_tokens_is_read(owner: User) -> None:
    chat = make_chat(owner, STORY[0], "漢字仮名" * 50_000, STORY[1], "And?", character=make_character(owner))
    run = extract(chat)
    assert (run.state, run.error) == ("succeeded", "")
    assert any(STORY[1] in memory.text for memory in memories(chat))


def test_without_a_model_a_quoted_sentence_gets_the_date_of_yesterday(owner: User) -> None:
    chat = make_chat(
        owner, "My brother Tom moved to Lyon yesterday with his wife Anna.", "Oh.", character=make_character(owner)
    )
    sent_at = dt.datetime(2024, 3, 5, 12, tzinfo=dt.UTC)
    Message.objects.for_owner(owner).filter(chat=chat).update(sent_at=sent_at)
    extract(chat)
    assert any("yesterday (4 March 2024)" in memory.text for memory in memories(chat))


def test_a_model_is_told_what_is_known_so_that_it_does_not_repeat_it(
    owner: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat = make_chat(owner, *STORY, character=make_character(owner))
    make_memory(chat, "Mira owns the mill.")
    make_memory(chat, "The mill burns.", tier=Memory.Tier.SESSION, kind=Memory.Kind.DETAIL)
    make_memory(chat, "Mira sold the mill.", state=Memory.State.RETIRED)
    asked: dict[str, GenerationRequest] = {}

    def record(task: str) -> Any:
        return lambda request: asked.setdefault(task, request) and "NONE"

    for task in ("session", "long_term"):
        monkeypatch.setitem(builtin._tasks, task, record(task))
    extract(chat)
    known = {task: [item["text"] for item in request.material["known"]] for task, request in asked.items()}
    assert known == {"session": ["The mill burns.", "Mira owns the mill."], "long_term": ["Mira owns the mill."]}
    assert all(text in str(asked[task].messages) for task, texts in known.items() for text in texts)
    assert {task: request.material["subject"] for task, request in asked.items()} == {
        "session": "",
        "long_term": "Mira",
    }
