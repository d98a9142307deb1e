"""Test recalls where a search fails or finds nothing, where others write at the same time, and in branches."""

from concurrent.futures import ThreadPoolExecutor
from threading import Event

import pytest
from django.db import OperationalError, connection, transaction

from apps.chats.models import ChatChange
from apps.chats.operations import append_messages, branch_chat
from apps.chats.signals import ChatChanged
from apps.injection import operations
from apps.injection.models import Recall
from apps.injection.prompts import assembly
from apps.memories.search import service
from tests.factories import UserFactory, make_character, make_chat, make_memory, parsed
from tests.injection.test_recall_lifecycle import appended, prompt


@pytest.fixture
def turn(chat, memories):
    return chat.messages.with_swipes().order_by("index").last()


@pytest.fixture
def url(chat, turn):
    return f"/api/v1/chats/{chat.pk}/messages/{turn.pk}/recall/"


def forget(memories):
    for memory in memories:
        memory.delete()


def without_vectors(monkeypatch):
    """Let the search find by words only, as it does where no model answers."""
    search = service.search
    monkeypatch.setattr(
        "apps.injection.retrieval.related.search",
        lambda *args: service.SearchResponse("text", search(*args).results),
    )


def test_a_fresh_recall_that_finds_nothing_leaves_the_stored_one(chat, turn, memories):
    stored = operations.recall_turn(chat, turn)
    forget(memories)
    assert operations.recall_turn(chat, turn).text == stored.text
    assert Recall.objects.for_owner(chat.owner_id).get().text == stored.text


def test_a_stored_recall_does_not_bring_back_what_was_hidden_since(api, chat, turn, memories):
    assert "plums" in operations.recall_turn(chat, turn).text
    for memory in memories:
        memory.hidden = True
        memory.save(update_fields=["hidden"])
    said = " ".join(slot["text"] for slot in prompt(api, chat)["slots"])
    assert "plums" not in said
    assert "dawn" not in said


def test_without_embeddings_the_stored_recall_is_used(api, chat, url, monkeypatch, remember):
    stored = prompt(api, chat)["recall"]
    without_vectors(monkeypatch)
    remember("The key turned up in the lake.")
    again = prompt(api, chat)["recall"]
    assert (again["text"], again["source"]) == (stored["text"], "persistent")


def test_a_failing_database_query_leaves_an_idempotent_request_usable(api, chat, url, monkeypatch):
    stored = prompt(api, chat)["recall"]

    def failing(*args):
        with connection.cursor() as cursor:
            try:
                cursor.execute("SELECT 1 / 0")
            except Exception as error:
                raise OperationalError from error

    monkeypatch.setattr(assembly, "retrieve", failing)
    path = f"/api/v1/chats/{chat.pk}/prompt/"
    replies = [api.post(path, {}, headers={"Idempotency-Key": "once"}) for _ in range(2)]
    assert [reply.status_code for reply in replies] == [200, 200]
    assert replies[0].json()["recall"]["text"] == stored["text"]
    assert replies[0].json()["recall"]["source"] == "persistent"


def test_a_recall_of_unsent_text_becomes_that_of_the_message(api, alice, chat, memories):
    unsent = prompt(api, chat, text="Does Mira like plums?")["recall"]
    assert unsent["message"] is None
    other = [parsed("The key is gone.", is_user=False), parsed("Does Mira like plums?", is_user=True)]
    message = append_messages(alice, chat.pk, other).messages[1]
    kept = api.get(f"/api/v1/chats/{chat.pk}/messages/{message.pk}/recall/").json()
    assert (kept["id"], kept["text"]) == (unsent["id"], unsent["text"])
    assert Recall.objects.for_owner(alice).count() == 1


def test_a_recall_of_other_unsent_text_becomes_nobodys(api, alice, chat, memories):
    for text in ("Does Mira like plums?", "Does Mira like pears?"):
        prompt(api, chat, text=text)
    assert Recall.objects.for_owner(alice).count() == 1
    append_messages(alice, chat.pk, [parsed("Does Mira like plums?", is_user=True)])
    assert Recall.objects.for_owner(alice).get().message is None


def test_an_unsent_recall_is_used_when_the_search_fails(api, chat, memories, monkeypatch):
    unsent = prompt(api, chat, text="Does Mira like plums?")["recall"]
    without_vectors(monkeypatch)
    assert prompt(api, chat, text="Does Mira like plums?")["recall"]["id"] == unsent["id"]


def test_a_recall_deleted_just_after_sending_stays_deleted(api, chat, turn, url):
    prompt(api, chat)
    assert api.delete(url).status_code == 204
    operations.recall_appended_turn(appended(chat, [turn]))
    assert api.get(url).status_code == 404
    assert prompt(api, chat)["recall"]["id"] is None
    assert api.get(url).status_code == 404
    assert api.post(f"{url}rerun/").status_code == 200
    assert api.get(url).status_code == 200


def test_a_rerun_keeps_the_former_recall_and_undo_brings_it_back(api, chat, turn, url, remember):
    former = prompt(api, chat)["recall"]
    remember("The key turned up in the lake.")
    newer = api.post(f"{url}rerun/").json()
    assert "lake" in newer["text"]
    recall = Recall.objects.for_owner(chat.owner_id).get()
    assert recall.previous["text"] == former["text"]
    assert operations.undo_rerun(recall).text == former["text"]
    assert prompt(api, chat)["recall"]["text"] == former["text"]


def test_a_branch_has_the_recalls_of_its_messages(alice, chat, turn, memories):
    operations.recall_turn(chat, chat.messages.with_swipes().get(index=0))
    operations.edit_recall(operations.recall_turn(chat, turn), "Mine.", turn_hash="0" * 64)
    branch = branch_chat(alice, chat.pk, 2)
    assert [recall.message.index for recall in branch.recalls.all()] == [0]
    whole = branch_chat(alice, chat.pk, turn.index)
    assert whole.recalls.get(message__index=turn.index).text == "Mine."
    assert chat.recalls.count() == 2


def test_a_branch_shows_its_own_messages_as_sources(alice, chat, turn, memories):
    recall = operations.recall_turn(chat, turn)
    said = chat.messages.get(index=1)
    recall.memories = [{**recall.memories[0], "id": str(said.pk), "message": str(said.pk)}]
    recall.save()
    branch = branch_chat(alice, chat.pk, turn.index)
    copy = branch.messages.get(index=1)
    assert branch.recalls.get().memories[0]["id"] == str(copy.pk)
    assert branch.recalls.get().memories[0]["message"] == str(copy.pk)


@pytest.mark.django_db(transaction=True)
def test_an_edit_during_a_recall_is_not_overwritten(transactional_db):
    chat = make_chat(UserFactory(), "Where is the key?")
    make_memory(chat, "The key is under the stone.")
    turn = chat.messages.with_swipes().get()
    operations.recall_turn(chat, turn)
    started = Event()

    def recall_again():
        try:
            started.set()
            return operations.recall_turn(chat, turn).text
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as threads:
        with transaction.atomic():
            recall = Recall.objects.for_owner(chat.owner_id).get()
            operations.edit_recall(recall, "Mine.", turn_hash=recall.turn_hash)
            again = threads.submit(recall_again)
            started.wait(10)
        assert again.result(60) == "Mine."
    assert Recall.objects.for_owner(chat.owner_id).get().text == "Mine."


def test_another_kind_of_change_adopts_nothing(api, chat, turn, memories):
    prompt(api, chat, text="Does Mira like plums?")
    event = ChatChanged(chat.owner_id, chat.pk, ChatChange.Kind.PATCH, chat.rev, chat.integrity, [turn.pk])
    operations.adopt_unsent_recall(event)
    assert Recall.objects.for_owner(chat.owner_id).get().message is None


def test_another_members_recall_is_not_used_when_the_search_fails(api, alice, chat, memories, monkeypatch):
    assert prompt(api, chat)["recall"]["text"]
    other = make_character(alice, "Tom")
    without_vectors(monkeypatch)
    said = " ".join(slot["text"] for slot in prompt(api, chat, character=str(other.pk))["slots"])
    assert "dawn" in said
    assert "plums" not in said
    assert Recall.objects.for_owner(alice).get().text
