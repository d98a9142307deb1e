"""Test POST chats/{id}/prompt/."""

import uuid

import pytest
from django.utils import timezone

from apps.chats.operations import append_messages
from apps.extraction.settings.stores import change_settings
from apps.llm.tokens import count_tokens
from apps.prompts.models import Recall
from apps.prompts.slots.definitions import ALL_SLOTS, MACROS
from apps.search.indexing import index_messages
from tests.factories import UserFactory, make_character, make_chat, parsed
from tests.prompts.requests import assemble

NAMES = [
    "canon", "short_term", "profiles", "long_term", "scenes", "relationships", "triggered", "session", "arcs",
    "epistemic", "state_ledger", "repair", "unified",
]  # fmt: skip


def ask(api, chat, **body):
    return api.post(f"/api/v1/chats/{chat.pk}/prompt/", body)


def slots_of(reply):
    return {slot["name"]: slot for slot in reply.json()["slots"]}


def test_the_shape_of_the_reply(api, chat, memories):
    reply = ask(api, chat)
    assert reply.status_code == 200, reply.content
    body = reply.json()
    assert [slot["name"] for slot in body["slots"]] == NAMES
    assert set(body["slots"][0]) == {
        "name", "role", "position", "depth", "text", "tokens", "full_tokens", "trimmed", "budget"
    }  # fmt: skip
    assert set(body["macros"]) == set(MACROS)
    assert body["macros"]["smartmemory-longterm"] == slots_of(reply)["long_term"]["text"]
    assert (body["unified"], body["messages"], body["turn_class"]) == (None, None, "dialogue")
    assert body["total_tokens"] == sum(slot["tokens"] for slot in body["slots"])
    assert "The silver key lies under the blue stone." in slots_of(reply)["long_term"]["text"]
    assert "They left the city at dawn." in slots_of(reply)["session"]["text"]


def test_the_recall_is_stored_for_the_last_user_turn(api, chat, memories):
    recall = ask(api, chat).json()["recall"]
    last = chat.messages.order_by("index").last()
    assert recall["message"] == str(last.pk)
    assert (recall["source"], recall["edited"]) == ("fresh", False)
    assert recall["memories"][0]["id"] == str(memories[0].pk)
    assert {"id", "score", "signals"} <= set(recall["memories"][0])
    assert recall["tokens"] == count_tokens(recall["text"])
    stored = api.get(f"/api/v1/chats/{chat.pk}/messages/{last.pk}/recall/").json()
    assert {**stored, "updated_at": None} == {**recall, "updated_at": None}


def test_the_recall_of_an_unsent_turn_belongs_to_no_message(api, alice, chat, memories):
    body = ask(api, chat, text="Does Mira like plums?", history=True).json()
    assert body["recall"]["message"] is None
    assert body["messages"][-1] == {"role": "user", "content": "Does Mira like plums?"}
    assert Recall.objects.for_owner(alice).get().message is None
    assert api.get(f"/api/v1/chats/{chat.pk}/recalls/").json()["results"] == []


def test_a_turn_that_was_just_sent_is_not_repeated(api, chat, memories):
    body = ask(api, chat, text="What about the key?", history=True).json()
    said = [message for message in body["messages"] if message["content"] == "What about the key?"]
    assert len(said) == 1
    assert body["recall"]["message"] == str(chat.messages.order_by("index").last().pk)


@pytest.mark.parametrize("context_tokens", [60, 150, 400, 4000])
def test_the_prompt_stays_within_the_context(api, chat, memories, context_tokens):
    body = ask(api, chat, context_tokens=context_tokens, history=True).json()
    assert body["total_tokens"] == sum(count_tokens(message["content"]) for message in body["messages"])
    assert body["total_tokens"] <= context_tokens
    assert body["messages"][-1]["content"] == "What about the key?"


def test_a_message_of_more_than_200_000_tokens_leaves_its_chat_usable(api, alice):
    chat = make_chat(alice, "Hello.", "漢字仮名" * 60_000, "And?")
    reply = ask(api, chat, context_tokens=4000, history=True)
    assert reply.status_code == 200, reply.content
    assert reply.json()["messages"][-1]["content"] == "And?"


def test_history_loses_its_oldest_messages_and_leaves_out_hidden_ones(api, chat, memories):
    chat.messages.filter(index=29).update(is_system=True)
    contents = [m["content"] for m in ask(api, chat, history=True).json()["messages"]]
    assert "We walk on for mile 26 of the road." in contents
    assert "We walk on for mile 27 of the road." not in contents
    short = [m["content"] for m in ask(api, chat, history=True, context_tokens=120).json()["messages"]]
    assert "Where is the silver key?" in contents
    assert "Where is the silver key?" not in short


def test_slots_are_placed_by_their_depth(api, chat, memories):
    body = ask(api, chat, history=True).json()
    contents = [message["content"] for message in body["messages"]]
    slots = {slot["name"]: slot for slot in body["slots"]}
    assert contents[0] == slots["long_term"]["text"]
    assert contents.index(slots["session"]["text"]) == len(contents) - 1 - slots["session"]["depth"]
    assert body["messages"][0]["role"] == "system"


def test_budgets_hold_on_the_rendered_text(api, chat, remember):
    change_settings(chat.owner, {"long_term_cap": 240}, chat=chat)
    for number in range(60):
        remember(f"Fact number {number}: the road to the coast has {number} milestones and an old inn beside it.")
    for slot in slots_of(ask(api, chat)).values():
        assert slot["tokens"] == count_tokens(slot["text"]) <= slot["budget"]
    long_term = slots_of(ask(api, chat))["long_term"]
    assert long_term["trimmed"] == 60 - (len(long_term["text"].splitlines()) - 1) > 0
    assert long_term["full_tokens"] > long_term["budget"]


def test_the_text_is_the_same_while_nothing_changed(api, chat, memories):
    assert ask(api, chat).json()["slots"] == ask(api, chat).json()["slots"]


def test_a_passage_is_quoted_and_nothing_is_repeated(api, alice, chat, remember, memories):
    index_messages(alice, chat)
    # Where the passage stands in the prompt as a memory already, it isn't quoted too.
    remembered = remember("Under the blue stone, beside the well with the frayed rope, my uncle hid the silver key.")
    assert "the frayed rope" not in slots_of(ask(api, chat))["triggered"]["text"]
    remembered.delete()
    reply = ask(api, chat)
    assert "the frayed rope" in slots_of(reply)["triggered"]["text"]
    lines = [line for slot in reply.json()["slots"] for line in slot["text"].splitlines()]
    assert len(lines) == len(set(lines))
    assert not any("mile 27" in line for line in lines)  # it is still in the history
    ids = [item["id"] for item in reply.json()["recall"]["memories"]]
    assert len(ids) == len(set(ids))


def test_hidden_and_retired_memories_are_left_out(api, chat, remember):
    """Neither those that always stand in the prompt nor those that the search finds; one that is neither shows both."""
    for tier in ("long_term", "session"):
        remember("The key is made of hidden silver.", tier=tier, hidden=True)
        remember("The key is made of retired silver.", tier=tier, state="retired")
        remember("The key is made of deleted silver.", tier=tier, deleted_at=timezone.now())
    shown = remember("The key is made of plain silver.")
    body = ask(api, chat).json()
    assert [memory["id"] for memory in body["recall"]["memories"]] == [str(shown.pk)]
    assert body["recall"]["memories"][0]["signals"]["recency"] > 0, "the search has found it"
    assert "".join(slot["text"] for slot in body["slots"]).count("silver") == 1


def test_pinned_memories_come_before_more_similar_ones(api, chat, remember):
    pinned = remember("Her brother keeps bees.", pinned=True, importance=1)
    for number in range(40):
        remember(f"The silver key number {number} lies under the blue stone beside the other keys of the house.")
    assert pinned.text in slots_of(ask(api, chat))["long_term"]["text"]


def test_an_empty_chat_has_an_empty_prompt(api, alice):
    body = ask(api, make_chat(alice), history=True).json()
    assert (body["messages"], body["recall"], body["total_tokens"]) == ([], None, 0)


def test_another_character_has_its_own_memories(api, alice, chat, remember):
    other = make_character(alice, "Tolly")
    remember("Tolly has an iron rake.", character=other)
    assert "iron rake" in slots_of(ask(api, chat, character=str(other.pk)))["long_term"]["text"]
    assert "iron rake" not in slots_of(ask(api, chat))["long_term"]["text"]


@pytest.mark.parametrize(
    ("body", "pointer"),
    [
        ({"text": 5}, "/text"),
        ({"context_tokens": "many"}, "/context_tokens"),
        ({"context_tokens": 0}, "/context_tokens"),
        ({"context_tokens": True}, "/context_tokens"),
        ({"history": "yes"}, "/history"),
        ({"character": "nobody"}, "/character"),
        ({"charakter": None}, "/charakter"),
        ({"text": "nul \x00"}, "/text"),
        ({"history": True, "text": "word " * 500, "context_tokens": 100}, "/context_tokens"),
    ],
)
def test_errors_name_the_field(api, chat, body, pointer):
    reply = ask(api, chat, **body)
    assert reply.status_code == 400, reply.content
    assert reply["Content-Type"] == "application/problem+json"
    assert pointer in [error["pointer"] for error in reply.json()["errors"]]


def test_chats_of_other_users_do_not_exist(api, stranger, chat):
    assert ask(stranger, chat).status_code == 404
    assert api.post(f"/api/v1/chats/{uuid.uuid4()}/prompt/", {}).status_code == 404


def test_characters_of_other_users_are_refused(api, chat):
    theirs = make_character(UserFactory(), "Other")
    reply = ask(api, chat, character=str(theirs.pk))
    assert reply.status_code == 400
    assert reply.json()["errors"][0]["pointer"] == "/character"


def test_the_slots_are_those_of_the_reference():
    """Positions, depths and budgets of the table A2 of the reference; "triggered" and "repair" have none there."""
    assert {slot.name: (slot.position, slot.depth, slot.budget) for slot in ALL_SLOTS} == {
        "short_term": ("in_prompt", 0, 2000), "canon": ("in_prompt", 0, 800), "profiles": ("in_prompt", 1, 400),
        "long_term": ("in_prompt", 2, 500), "unified": ("in_prompt", 0, 5200), "scenes": ("in_chat", 6, 300),
        "relationships": ("in_chat", 5, 250), "triggered": ("in_chat", 4, 400), "session": ("in_chat", 3, 400),
        "arcs": ("in_chat", 2, 700), "epistemic": ("in_chat", 1, 200), "state_ledger": ("in_chat", 1, 200),
        "repair": ("in_chat", 0, 200),
    }  # fmt: skip
    assert {slot.role for slot in ALL_SLOTS} == {"system"}
    assert len(MACROS) == 12


def test_a_turn_may_be_as_long_as_a_message(api, chat):
    reply = ask(api, chat, text="We walk on. " * 15_000, context_tokens=1_000_000, history=True)
    assert reply.status_code == 200, reply.content
    assert len(reply.json()["messages"][-1]["content"]) == 180_000


def test_a_turn_that_is_appended_while_the_prompt_is_made_stands_in_its_history(alice, chat):
    append_messages(alice, chat.pk, [parsed("The well.", is_user=False), parsed("And the rope?", is_user=True)])
    prompt = assemble(chat, text=None, character=None, context_tokens=8000, with_history=True)
    assert prompt.recall is None or prompt.recall.message.mes == "And the rope?"
    assert [message["content"] for message in prompt.messages][-3:] == [
        "What about the key?",
        "The well.",
        "And the rope?",
    ]
