"""Test which recall a turn has when a search finds nothing or fails, and when turns are sent, deleted and restored."""

import threading

import pytest
from django.db import connection, transaction

from apps.chats.locking import Guard
from apps.chats.operations import Patch, append_messages, branch_chat, patch_messages, undo_change
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.operations import create_connection, use_for
from apps.memories.models import Arc, Memory
from apps.prompts import operations
from apps.prompts.assembly.recalled import current_entries
from apps.prompts.filling.plan import slot_plan_for
from apps.prompts.models import Recall
from apps.prompts.operations import ensure_recall, recall_appended_turn, recall_turn, store_recall
from apps.prompts.retrieval import found as found_entries
from apps.prompts.retrieval import service
from apps.prompts.retrieval.service import Related, retrieve
from apps.prompts.settings.stores import prompt_settings_of
from apps.prompts.turns import text_hash, turn_from_message
from tests.factories import parsed
from tests.llm.scripted_server import ScriptedServer
from tests.prompts.test_recall_lifecycle import appended, prompt

UNCHECKED = Guard(optional=True)


@pytest.fixture
def turn(chat, memories):
    return chat.messages.order_by("index").last()


@pytest.fixture
def url(chat, turn):
    return f"/api/v1/chats/{chat.pk}/messages/{turn.pk}/recall/"


def break_embedder(monkeypatch):
    def unavailable(owner):
        raise EmbeddingUnavailable("switched off")

    monkeypatch.setattr("apps.search.service.embedder_for", unavailable)


def find_nothing(monkeypatch):
    monkeypatch.setattr(service, "search_related", lambda *args: Related())
    monkeypatch.setattr(found_entries, "chosen_memories", lambda turn, tiers, *args: {tier: [] for tier in tiers})


# A search that finds nothing, or fails


def test_a_fresh_recall_that_finds_nothing_does_not_overwrite_the_stored_one(api, chat, turn, url, monkeypatch):
    stored = prompt(api, chat)["recall"]
    find_nothing(monkeypatch)
    again = prompt(api, chat)
    assert (again["recall"]["text"], again["recall"]["source"]) == (stored["text"], "persistent")
    assert api.get(url).json()["text"] == stored["text"]
    assert recall_turn(chat, turn).text == stored["text"]


def test_without_embeddings_the_persistent_recall_is_used(api, chat, url, monkeypatch):
    stored = prompt(api, chat)["recall"]
    break_embedder(monkeypatch)
    again = prompt(api, chat)
    assert (again["recall"]["text"], again["recall"]["source"]) == (stored["text"], "persistent")
    assert api.get(url).json()["memories"] == stored["memories"]


def test_a_server_of_embeddings_that_is_down_leads_to_the_persistent_recall(api, alice, chat, memories):
    stored = prompt(api, chat)["recall"]
    with ScriptedServer("ready") as server:
        connection = create_connection(
            alice, name="s", backend="openai", base_url=f"{server.url}/v1", model="m", embedding_model="v"
        )
        use_for(connection, embeddings=True)
    again = prompt(api, chat)
    assert (again["recall"]["text"], again["recall"]["source"]) == (stored["text"], "persistent")


def test_without_embeddings_and_a_stored_recall_words_are_searched(api, chat, memories, monkeypatch):
    break_embedder(monkeypatch)
    recall = prompt(api, chat)["recall"]
    assert "silver key" in recall["text"]
    assert recall["source"] == "fresh"


def test_a_database_error_in_an_idempotent_request_leads_to_the_persistent_recall(api, chat, memories, monkeypatch):
    stored = prompt(api, chat)["recall"]

    def failing_query(*args):
        with connection.cursor() as cursor:
            cursor.execute("SET LOCAL statement_timeout = 10")
            cursor.execute("SELECT pg_sleep(5)")

    monkeypatch.setattr(service, "search_related", failing_query)
    url = f"/api/v1/chats/{chat.pk}/prompt/"
    replies = [api.post(url, {}, headers={"Idempotency-Key": "one"}) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [200, 200]
    assert replies[1].headers["Idempotent-Replayed"] == "true"
    assert replies[0].json()["recall"]["text"] == stored["text"]
    assert replies[0].json()["recall"]["source"] == "persistent"


@pytest.mark.parametrize(
    "change",
    [{"hidden": True}, {"state": "retired"}, {"text": "Mira hates plums."}],
    ids=["hidden", "retired", "edited"],
)
def test_a_persistent_recall_does_not_tell_what_was_hidden_or_changed_since(api, chat, memories, monkeypatch, change):
    assert "Mira likes plums." in prompt(api, chat)["recall"]["text"]
    Memory.objects.for_owner(chat.owner).filter(pk=memories[1].pk).update(**change)
    break_embedder(monkeypatch)
    text = "\n".join(slot["text"] for slot in prompt(api, chat)["slots"])
    assert "Mira likes plums." not in text
    assert "The silver key lies under the blue stone." in text


def test_a_persistent_recall_does_not_repeat_what_another_slot_says_since(api, chat, turn, monkeypatch):
    prompt(api, chat)
    said = "The silver key lies under the blue stone."
    recall = Recall.objects.for_owner(chat.owner).get(message=turn)
    recall.memories = [item | {"slot": "triggered"} if item["text"] == said else item for item in recall.memories]
    recall.save()
    Arc.objects.create(owner_id=chat.owner_id, chat=chat, text=said)
    break_embedder(monkeypatch)
    told = "\n".join(slot["text"] for slot in prompt(api, chat)["slots"])
    assert told.count(said) == 1


def test_a_persistent_recall_tells_nothing_of_a_deleted_message(chat, turn):
    recall, source = recall_turn(chat, turn), chat.messages.get(index=1)
    said = source.mes
    passage = {"id": str(source.pk), "tier": "messages", "slot": "triggered", "text": f"{source.name}: {said}"}
    recall.memories.append(recall.memories[0] | passage)

    def told():
        current = chat.messages.get(pk=turn.pk)
        entries = current_entries(turn_from_message(chat, current), chat.character, recall)
        return {name: [entry.line for entry in items] for name, items in entries.items()}

    assert passage["text"] in told()["triggered"]
    patch_messages(chat.owner, chat.pk, [Patch({"mes": "Nothing."}, id=source.pk)], UNCHECKED)
    assert passage["text"] not in told()["triggered"]
    patch_messages(chat.owner, chat.pk, [Patch({"mes": said}, id=source.pk)], UNCHECKED)
    assert passage["text"] in told()["triggered"]
    patch_messages(chat.owner, chat.pk, [Patch(id=source.pk, delete=True)], UNCHECKED)
    assert passage["text"] not in told()["triggered"]
    assert "Mira likes plums." in told()["long_term"]


# A text that is not yet appended


def test_the_recall_of_a_text_becomes_that_of_the_turn_when_it_is_appended(api, alice, chat, memories):
    unsent = prompt(api, chat, text="Does Mira like plums?")["recall"]
    message = append_messages(alice, chat.pk, [parsed("Does Mira like plums?", is_user=True)]).messages[0]
    stored = api.get(f"/api/v1/chats/{chat.pk}/messages/{message.pk}/recall/").json()
    assert (stored["id"], stored["message"]) == (unsent["id"], str(message.pk))
    assert stored["text"] == unsent["text"]
    recall_appended_turn(appended(chat, [message]))
    assert Recall.objects.for_owner(alice).get().pk == ensure_recall(alice, chat.pk, message.pk).pk


def test_the_recall_of_a_text_is_the_persistent_one_until_it_is_appended(api, chat, memories, monkeypatch):
    unsent = prompt(api, chat, text="Does Mira like plums?")["recall"]
    break_embedder(monkeypatch)
    again = prompt(api, chat, text="Does Mira like plums?")["recall"]
    assert (again["id"], again["text"], again["source"]) == (unsent["id"], unsent["text"], "persistent")


def test_only_the_recall_of_the_last_text_waits_and_another_turn_ends_it(api, alice, chat, memories):
    for text in ("Does Mira like plums?", "And the key?"):
        prompt(api, chat, text=text)
    assert Recall.objects.for_owner(alice).get().turn_hash == text_hash("And the key?")
    append_messages(alice, chat.pk, [parsed("Wait.", is_user=False)])
    assert Recall.objects.for_owner(alice).exists()
    append_messages(alice, chat.pk, [parsed("Let us sleep.", is_user=True)])
    assert not Recall.objects.for_owner(alice).exists()


# Cards that are deleted


def test_a_card_deleted_just_after_sending_stays_deleted(api, alice, chat, turn, url):
    prompt(api, chat)
    assert api.delete(url).status_code == 204
    recall_appended_turn(appended(chat, [turn]))
    assert ensure_recall(alice, chat.pk, turn.pk).text == ""
    again = prompt(api, chat)
    assert again["recall"] is None
    assert all(not slot["text"] for slot in again["slots"])
    assert api.get(url).status_code == 404
    assert api.get(f"/api/v1/chats/{chat.pk}/recalls/").json()["results"] == []
    assert api.patch(url, {"text": "x"}).status_code == 404


def test_a_card_deleted_during_a_search_stays_deleted(chat, turn):
    recall = recall_turn(chat, turn)
    found = turn_from_message(chat, turn)
    result = retrieve(found, chat.character, slot_plan_for(chat, chat.character, found.text, prompt_settings_of(chat)))
    operations.delete_recall(recall)
    assert store_recall(found, result.recall).deleted


def test_a_deleted_card_comes_back_by_a_rerun_or_for_another_text(api, alice, chat, turn, url):
    prompt(api, chat)
    api.delete(url)
    assert api.post(f"{url}rerun/").json()["text"]
    api.delete(url)
    patch_messages(alice, chat.pk, [Patch({"mes": "Does Mira like plums?"}, id=turn.pk)], UNCHECKED)
    assert prompt(api, chat)["recall"]["text"]
    assert api.get(url).status_code == 200


def test_a_deleted_card_stays_deleted_when_its_message_is_deleted_and_restored(api, alice, chat, turn, url):
    prompt(api, chat)
    api.delete(url)
    patch_messages(alice, chat.pk, [Patch(id=turn.pk, delete=True)], UNCHECKED)
    undo_change(alice, chat.pk, UNCHECKED)
    assert ensure_recall(alice, chat.pk, turn.pk).deleted


# Edits at the same time


@pytest.mark.django_db(transaction=True)
def test_an_edit_that_commits_during_a_search_is_kept(chat, turn):
    """The search's result waits for the row that the edit has locked."""
    recall = recall_turn(chat, turn)
    found = turn_from_message(chat, turn)
    result = retrieve(found, chat.character, slot_plan_for(chat, chat.character, found.text, prompt_settings_of(chat)))
    stored = []

    def store():
        stored.append(store_recall(found, result.recall))
        connection.close()

    with transaction.atomic():
        operations.edit_recall(recall, "Mine.", turn_hash=recall.turn_hash)
        thread = threading.Thread(target=store)
        thread.start()
        thread.join(0.5)
        assert thread.is_alive()
    thread.join(20)
    assert stored[0].text == "Mine."
    assert Recall.objects.for_owner(chat.owner).get().text == "Mine."


# Branches


def test_a_branch_has_copies_of_the_cards_up_to_its_end(api, alice, chat, turn, url):
    prompt(api, chat)
    stored = Recall.objects.for_owner(alice).get()
    stored.left_out, stored.left_out_count = [stored.memories[0] | {"budget": 10, "message": str(turn.pk)}], 1
    stored.save()
    edited = api.patch(url, {"text": "The key is made of glass."}).json()
    append_messages(alice, chat.pk, [parsed("And now?", is_user=True)])
    prompt(api, chat)
    branch = branch_chat(alice, chat.pk, turn.index)
    copied = branch.messages.get(index=turn.index)
    card = api.get(f"/api/v1/chats/{branch.pk}/messages/{copied.pk}/recall/").json()
    assert (card["text"], card["edited"]) == (edited["text"], True)
    assert branch.recalls.count() == 1
    copied_ids = {str(pk) for pk in branch.messages.values_list("pk", flat=True)}
    stored = branch.recalls.get()
    assert {item["message"] for item in [*stored.memories, *stored.left_out]} <= {None, *copied_ids}
    patch_messages(alice, chat.pk, [Patch(id=turn.pk, delete=True)], UNCHECKED)
    assert branch.recalls.count() == 1
    assert prompt(api, branch)["recall"]["text"] == "The key is made of glass."


def test_a_deleted_card_stays_deleted_in_a_branch(api, alice, chat, turn, url):
    prompt(api, chat)
    api.delete(url)
    branch = branch_chat(alice, chat.pk, turn.index)
    assert ensure_recall(alice, branch.pk, branch.messages.get(index=turn.index).pk).deleted
