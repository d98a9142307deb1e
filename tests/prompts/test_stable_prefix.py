"""The order and the stability of a prompt, so that a provider's cache keeps its beginning; and statistics of slots."""

import threading

import pytest
from django.db import connection

from apps.chats.operations import append_messages
from apps.extraction.settings.stores import change_settings
from apps.llm.tokens import count_tokens
from apps.memories.models import Memory
from apps.prompts.assembly.states import record_statistics
from apps.prompts.filling.statistics import demands_of
from apps.prompts.models import PromptState, SlotStatistics
from apps.prompts.operations import edit_recall
from apps.prompts.settings.stores import INJECTION_SETTINGS
from apps.prompts.slots.definitions import IN_PROMPT, LONG_TERM
from apps.prompts.slots.entries import FilledSlot
from tests.factories import parsed
from tests.prompts.requests import assemble

TOPICS = ["the harbour", "her brother", "the old king", "a broken lute", "the winter war", "honey", "the north gate"]
WORDS = [
    "burnt to the ground in a single night", "cost more than anybody had expected", "seldom spoke of its maker",
    "slept under seven heavy blankets", "vanished beyond distant blue hills", "whistled when rain came from west",
]  # fmt: skip


def ask(chat, text=None, **options):
    options = {"character": None, "context_tokens": 8000, "with_history": True} | options
    return assemble(chat, text=text, **options)


def leading(prompt):
    return [item.text for item in prompt.slots if item.slot.position == IN_PROMPT]


@pytest.fixture
def many(chat, remember):
    """More lasting memories than their budget holds."""
    INJECTION_SETTINGS.change(chat.owner, {"adaptive": False}, chat=chat)
    change_settings(chat.owner, {"long_term_cap": 200}, chat=chat)
    remember("The lighthouse keeper Osric is afraid of the dark.", importance=1)
    numbers = range(len(WORDS))
    return [remember(f"{topic} {n}: {WORDS[n]}.", importance=3) for topic in TOPICS for n in numbers]


def test_unchanged_memory_gives_a_byte_identical_beginning_whatever_the_turn_says(chat, many):
    prompts = [ask(chat, f"Tell me about {topic}.") for topic in ["Osric the lighthouse keeper", *TOPICS]]
    assert len({tuple(leading(prompt)) for prompt in prompts}) == 1
    assert len({prompt.messages[0]["content"] for prompt in prompts}) == 1
    assert any("Osric" in item.text for item in prompts[0].slots if item.slot.name == "triggered")


def test_the_prompt_says_how_much_of_it_is_unchanged(chat, many):
    assert ask(chat).stable_tokens == 0
    again = ask(chat)
    assert again.stable_tokens == again.total_tokens
    append_messages(chat.owner, chat.pk, [parsed("Far."), parsed("How far?", is_user=True)])
    chat.refresh_from_db()
    grown = ask(chat)
    assert count_tokens(grown.messages[0]["content"]) <= grown.stable_tokens < grown.total_tokens


def test_a_preview_leaves_no_trace(chat, many):
    prompt = ask(chat, leave_trace=False)
    assert prompt.recall
    assert not chat.recalls.exists()
    for model in (PromptState, SlotStatistics):
        assert not model.objects.for_owner(chat.owner).exists()


def next_turn(chat):
    append_messages(chat.owner, chat.pk, [parsed("Yes."), parsed("And then?", is_user=True)])
    chat.refresh_from_db()
    return "\n".join(leading(ask(chat)))


def test_new_memories_wait_for_the_refresh_period_unless_a_person_changed_something(chat, remember, memories):
    INJECTION_SETTINGS.change(chat.owner, {"refresh_period": 3}, chat=chat)
    ask(chat)
    remember("Mira owns a boat.")
    assert "boat" not in "\n".join(leading(ask(chat)))
    assert "boat" not in next_turn(chat)
    assert "boat" not in next_turn(chat)
    assert "boat" in next_turn(chat)
    remember("Mira owns a mule.")
    assert "mule" not in next_turn(chat)
    remember("Mira owns a cat.", edited_by="alice")
    assert "cat" in next_turn(chat)
    assert "mule" in next_turn(chat)


@pytest.mark.parametrize("change", [{"hidden": True}, {"state": "retired"}, {"text": "Mira likes pears."}])
def test_what_is_hidden_retired_or_changed_leaves_a_held_block_at_once(chat, memories, change):
    INJECTION_SETTINGS.change(chat.owner, {"refresh_period": 100}, chat=chat)
    ask(chat)
    Memory.objects.for_owner(chat.owner).filter(pk=memories[1].pk).update(**change)
    assert "plums" not in "\n".join(leading(ask(chat)))


def test_statistics_say_what_the_last_prompt_needed_and_tuning_follows(chat, many):
    ask(chat)
    row = SlotStatistics.objects.for_owner(chat.owner).get(slot="long_term")
    assert (row.budget, row.high_water) == (500, row.full_tokens)
    assert row.trimmed > 0
    assert row.tokens <= 500 < row.full_tokens
    INJECTION_SETTINGS.change(chat.owner, {"auto_tune": True}, chat=chat)
    tuned = next(item for item in ask(chat).slots if item.slot.name == "long_term")
    assert (tuned.trimmed, tuned.budget % 50) == (0, 0)
    Memory.objects.for_owner(chat.owner).filter(pk__in=[row.pk for row in many[1:]]).update(hidden=True)
    ask(chat)
    after = SlotStatistics.objects.for_owner(chat.owner).get(slot="long_term")
    assert after.full_tokens < after.high_water == row.high_water


def test_a_text_that_a_person_edited_is_no_demand(chat, memories):
    recall = ask(chat).recall
    needed = demands_of(chat)
    assert needed["long_term"] > 0
    added = "- And one thing more.\n" * 100
    edit_recall(recall, f"{recall.text}\n{added}", turn_hash=recall.turn_hash)
    assert sum(item.tokens for item in ask(chat).slots) > 500
    assert demands_of(chat) == needed


@pytest.mark.django_db(transaction=True)
def test_two_prompts_at_once_lose_no_demand(chat):
    barrier = threading.Barrier(4)

    def write(demand):
        barrier.wait()
        for number in range(10):
            record_statistics(chat, [FilledSlot(LONG_TERM, "", 0, demand - number, 0, 500)])
        connection.close()

    threads = [threading.Thread(target=write, args=(100 * number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert demands_of(chat) == {"long_term": 400}
