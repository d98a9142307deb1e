"""What a recall and its card do as in ST-BME 6.3.0: its tables "Injection" and "Recall card", where they are right.

Not taken over: its blocks have no budget of tokens, and its estimate of them is by characters.
"""

import pytest

from apps.chats.locking import Guard
from apps.chats.operations import Patch, append_messages, patch_messages
from apps.llm.embeddings import EmbeddingUnavailable
from apps.memories.models import Entity, Memory
from apps.prompts.assembly import recalled as assembly
from apps.prompts.models import Recall
from apps.prompts.retrieval import found, service
from apps.prompts.retrieval.service import Related
from apps.prompts.turns import find_turn
from tests.factories import make_chat, parsed

UNCHECKED = Guard(optional=True)


@pytest.fixture
def turn(chat, memories):
    return chat.messages.order_by("index").last()


@pytest.fixture
def url(chat, turn):
    return f"/api/v1/chats/{chat.pk}/messages/{turn.pk}/recall/"


def prompt(api, chat, **body):
    reply = api.post(f"/api/v1/chats/{chat.pk}/prompt/", body)
    assert reply.status_code == 200, reply.content
    return reply.json()


def fail(*args):
    raise EmbeddingUnavailable


@pytest.mark.parametrize(
    ("fresh", "is_stored", "source"),
    [
        ("found", True, "fresh"),
        ("found", False, "fresh"),
        ("empty", True, "persistent"),
        ("failed", True, "persistent"),
        ("empty", False, None),
        ("failed", False, None),
    ],
)
def test_a_fresh_recall_goes_before_the_stored_one_and_without_either_nothing_is_said(
    api, chat, turn, monkeypatch, fresh, is_stored, source
):
    """Priority: fresh recall, persisted card, clear. Fresh counts only if it was completed and has a text."""
    stored = prompt(api, chat)["recall"]["text"] if is_stored else ""
    if fresh == "failed":
        monkeypatch.setattr(assembly, "retrieve", fail)
    elif fresh == "empty":
        monkeypatch.setattr(service, "search_related", lambda *args: Related())
        monkeypatch.setattr(found, "chosen_memories", lambda turn, tiers, *args: {tier: [] for tier in tiers})
    reply = prompt(api, chat)
    assert (reply["recall"] or {}).get("source") == source
    assert any(slot["text"] for slot in reply["slots"]) == (source is not None)
    if source == "persistent":
        assert reply["recall"]["text"] == stored


@pytest.mark.parametrize(
    ("given", "tail", "text", "index"),
    [
        ("About to be sent.", "reply", "About to be sent.", None),  # the text of the request
        ("Asked at the end.", "user", "Asked at the end.", 2),  # which is appended already
        (None, "user", "Asked at the end.", 2),  # the user's message at the end of the chat
        (None, "reply", "Asked first.", 0),  # the last message of the user
        (None, "hidden", "Asked first.", 0),
    ],
)
def test_the_text_of_a_turn_is_the_given_one_then_the_end_then_the_last_of_the_user(alice, given, tail, text, index):
    """Sources of the input: override, send intent, tail of the chat, message sent, last message of the user."""
    texts = ["Asked first.", "Answered.", *(["Asked at the end."] if tail == "user" else [])]
    chat = make_chat(alice, *texts)
    if tail == "hidden":
        append_messages(alice, chat.pk, [parsed("Hidden.", is_user=True, is_system=True)])
        chat.refresh_from_db()
    turn = find_turn(chat, given)
    assert (turn.text, turn.message.index if turn.message else None) == (text, index)


def test_a_rebuilt_card_keeps_its_beginning_and_forgets_the_edit(api, url, chat, turn):
    prompt(api, chat)
    began = Recall.objects.for_owner(chat.owner).get()
    edited = api.patch(url, {"text": "Mine."}).json()
    assert (edited["edited"], api.post(f"{url}rerun/").json()["edited"]) == (True, False)
    rebuilt = Recall.objects.for_owner(chat.owner).get()
    assert (rebuilt.pk, rebuilt.created_at) == (began.pk, began.created_at)
    assert rebuilt.updated_at > began.updated_at


@pytest.mark.parametrize("edits", [False, True])
def test_another_reply_uses_the_card_only_while_the_turn_has_its_text(alice, api, url, chat, turn, monkeypatch, edits):
    """A reroll or swipe reuses the record unless the bound text of the user's message has changed."""
    text = prompt(api, chat)["recall"]["text"]
    append_messages(alice, chat.pk, [parsed("A reply.", is_user=False)])
    if edits:
        patch_messages(alice, chat.pk, [Patch({"mes": "And the well?"}, id=turn.pk)], UNCHECKED)
    monkeypatch.setattr(assembly, "retrieve", fail)
    again = prompt(api, chat)["recall"]
    assert (again and again["text"]) == (None if edits else text)


def test_the_graph_of_a_card_has_the_recalled_memories_names_and_no_edge_to_others(api, url, chat, turn, memories):
    """Subgraph: selected nodes that are not archived, and edges of which both ends are selected."""
    recalled, other = (
        memories[0],
        Memory.objects.for_owner(chat.owner).create(
            owner=chat.owner, chat=chat, tier="session", kind="fact", text="Tom hid the map.", hidden=True
        ),
    )
    names = {
        name: Entity.objects.create(owner=chat.owner, character=chat.character, kind="character", name=name)
        for name in ("Key", "Stone", "Tom")
    }
    recalled.entities.add(names["Key"], names["Stone"])
    other.entities.add(names["Stone"], names["Tom"])
    prompt(api, chat)
    graph = api.get(url).json()["graph"]
    assert {node["label"] for node in graph["nodes"]} == {"Key", "Stone"}
    ids = {node["id"] for node in graph["nodes"]}
    assert [{edge["source"], edge["target"]} for edge in graph["edges"]] == [ids]
