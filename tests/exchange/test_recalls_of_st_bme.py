"""The recalls that ST-BME left in a chat stay in its form, and what becomes of them here reaches it."""

import io
import json
from typing import Any

import pytest
from rest_framework.test import APIClient

from apps.accounts.models import User
from apps.chats.models import Chat
from apps.exchange.chats.exports import export_jsonl
from apps.exchange.chats.imports import import_chats
from apps.prompts.models import Recall
from tests.contract.conftest import client_of
from tests.exchange.test_imported_chats import GRAPH, RECALL, line

pytestmark = pytest.mark.django_db
FULL = RECALL | {"tokenEstimate": 1, "updatedAt": "2024-05-01T10:00:00.000Z", "boundUserFloorText": "And the map?"}


@pytest.fixture
def alice() -> APIClient:
    return client_of(User.objects.create_user("alice@example.com"))


def taken_in(owner: User, *recalls: Any, graph: Any = GRAPH) -> tuple[Chat, list[Any]]:
    """Return an imported chat whose user turns have these recalls, and its lines."""
    turns = [line(2 * n, "And the map?", bme_recall=recall) for n, recall in enumerate(recalls)]
    header = {"user_name": "Alice", "character_name": "Mira", "chat_metadata": {"st_bme_graph": graph}}
    lines = [header, *turns, line(5, "Sold.")]
    file = io.BytesIO("\n".join(map(json.dumps, lines)).encode())
    return import_chats(owner, file, filename="heist.jsonl").chats[0], lines


def exported(chat: Chat) -> list[Any]:
    return [
        json.loads(text) for text in b"".join(export_jsonl(Chat.objects.for_owner(chat.owner_id).get())).splitlines()
    ]


def recall_url(chat: Chat) -> str:
    return f"/api/v1/chats/{chat.pk}/messages/{chat.messages.get(index=0).pk}/recall/"


@pytest.mark.parametrize(
    "recall", [RECALL, FULL, RECALL | {"boundUserFloorText": "Another text."}, {"injectionText": ""}]
)
def test_a_chat_with_recalls_is_exported_as_it_came(alice: APIClient, recall: dict[str, Any]) -> None:
    chat, lines = taken_in(alice.user, recall, {"injectionText": "The gate was open."})
    assert exported(chat) == lines


@pytest.mark.parametrize("stored", [RECALL, FULL])
def test_an_edit_of_the_recall_reaches_the_message_and_the_export(alice: APIClient, stored: dict[str, Any]) -> None:
    chat, lines = taken_in(alice.user, stored | {"manuallyEdited": False, "recallInput": "kept"})
    assert alice.patch(recall_url(chat), {"text": "Mira hid the map."}).status_code == 200
    changed = exported(chat)
    document = changed[1]["extra"].pop("bme_recall")
    assert changed[1]["extra"] == {}
    assert (document["injectionText"], document["manuallyEdited"]) == ("Mira hid the map.", True)
    assert (document["recallInput"], document["selectedNodeIds"]) == ("kept", ["n1", "gone"])
    assert document.keys() == {*stored, "recallInput"}
    assert changed[2:] == lines[2:]
    feed = alice.get(f"/api/v1/chats/{chat.pk}/changes/?since={chat.rev}").json()["changes"]
    assert feed[0]["messages"][0]["extra"]["bme_recall"]["injectionText"] == "Mira hid the map."


def test_what_was_edited_is_read_again_by_an_import(alice: APIClient) -> None:
    chat, _ = taken_in(alice.user, RECALL)
    alice.patch(recall_url(chat), {"text": "Mira hid the map."})
    other = User.objects.create_user("bob@example.com")
    content = b"".join(export_jsonl(Chat.objects.for_owner(alice.user).get()))
    import_chats(other, io.BytesIO(content), filename="heist.jsonl")
    recall = Recall.objects.for_owner(other).get()
    assert (recall.text, recall.edited) == ("Mira hid the map.", True)


def test_a_deleted_recall_is_gone_from_the_message_and_stays_deleted(alice: APIClient) -> None:
    chat, _ = taken_in(alice.user, RECALL)
    assert alice.delete(recall_url(chat)).status_code == 204
    assert "bme_recall" not in exported(chat)[1]["extra"]
    assert exported(chat)[1]["extra"]["loci"]["recall"]["deleted"] is True


def test_a_recall_made_again_is_written_over_the_old_one(alice: APIClient) -> None:
    chat, _ = taken_in(alice.user, RECALL)
    made = alice.post(f"{recall_url(chat)}rerun/").json()
    document = exported(chat)[1]["extra"]["bme_recall"]
    assert (document["injectionText"], document["manuallyEdited"]) == (made["text"], False)


def test_a_message_without_one_gets_none(alice: APIClient) -> None:
    chat, _ = taken_in(alice.user, None)
    url = recall_url(chat)
    assert alice.post(f"{url}rerun/").status_code == 200
    before = Chat.objects.for_owner(alice.user).get().rev
    assert alice.patch(url, {"text": "Mira hid the map."}).status_code == 200
    assert Chat.objects.for_owner(alice.user).get().rev == before
    assert exported(chat)[1]["extra"]["bme_recall"] is None
