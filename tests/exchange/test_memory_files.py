"""Lorebooks become memories, memories become lorebooks and Markdown."""

import io
import json
from typing import Any

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.test import Client
from rest_framework.test import APIClient

from apps.chats.models import Character, Chat, Lorebook
from apps.common.problems import Invalid
from apps.exchange.memories.importing import import_file
from apps.memories.models import Memory
from tests.contract.conftest import client_of
from tests.factories import UserFactory, make_character, make_chat, make_memory

pytestmark = pytest.mark.django_db

BOOK = {
    "name": "The coast",
    "entries": {
        "0": {"uid": 0, "key": ["Heron", "black tower"], "content": "{{char}} stole the Heron.", "order": 10},
        "1": {"uid": 1, "key": ["/tide/i"], "content": "The tide turns at six.", "constant": True},
        "2": {"uid": 2, "key": ["gate"], "content": "The gate is shut.", "disable": True},
        "3": {"uid": 3, "key": ["nothing"], "content": "   "},
    },
}


@pytest.fixture
def api() -> APIClient:
    return client_of(UserFactory())


@pytest.fixture
def mira(api: APIClient) -> Character:
    return make_character(api.user, "Mira")


@pytest.fixture
def chat(api: APIClient, mira: Character) -> Chat:
    return make_chat(api.user, "Where is the key?", "Under the stone.", character=mira)


def post_file(api: APIClient, url: str, value: Any) -> Any:
    content = value if isinstance(value, bytes) else json.dumps(value).encode()
    return api.post(url, {"file": SimpleUploadedFile("memories.json", content)}, format="multipart")


def test_a_file_is_read_before_its_chat_is_locked(api: APIClient, chat: Chat, django_assert_num_queries: Any) -> None:
    with django_assert_num_queries(0), pytest.raises(Invalid):
        import_file(api.user, io.BytesIO(b'{"no": "memories"}'), chat=chat)


def test_the_keys_of_a_lorebook_recall_its_entries(api: APIClient, chat: Chat) -> None:
    response = post_file(api, f"/api/v1/chats/{chat.pk}/memories/import/", BOOK)
    assert response.status_code == 201, response.data
    report = response.data["report"]
    assert (report["format"], report["written"]) == ("lorebook", {"memories": 3})
    assert any("regular expressions" in warning for warning in report["warnings"])
    heron, tide, gate = Memory.objects.for_owner(api.user).order_by("pk")
    assert (heron.text, heron.triggers, heron.character) == (
        "Mira stole the Heron.",
        ["heron", "black"],
        chat.character,
    )
    assert (tide.pinned, tide.triggers, gate.hidden) == (True, [], True)
    prompt = api.post(f"/api/v1/chats/{chat.pk}/prompt/", {"text": "Is that the heron?"}, format="json").data
    assert "Mira stole the Heron." in json.dumps(prompt)
    again = post_file(api, f"/api/v1/chats/{chat.pk}/memories/import/", BOOK)
    assert again.data["report"]["written"] == {"known": 3}


def test_macros_are_read_in_any_case_and_keys_that_recall_nothing_are_reported(api: APIClient, chat: Chat) -> None:
    entries = {"0": {"uid": 0, "key": ["Bo", "{{Char}}"], "content": "{{CHAR}} knows {{moon}} and Bo.", "order": 10}}
    report = post_file(api, f"/api/v1/chats/{chat.pk}/memories/import/", {"entries": entries}).data["report"]
    memory = Memory.objects.for_owner(api.user).get()
    assert (memory.text, memory.triggers) == ("Mira knows {{moon}} and Bo.", ["mira"])
    assert any("three letters" in warning for warning in report["warnings"])


def test_a_stored_lorebook_is_read_by_its_id_and_only_by_its_owner(api: APIClient, mira: Character) -> None:
    created = api.post("/api/v1/lorebooks/", {"name": "Coast", "entries": [{"keys": ["x"], "content": "Y."}]}, "json")
    url = f"/api/v1/characters/{mira.pk}/memories/import/"
    assert api.post(url, {"lorebook": created.data["id"]}, format="multipart").data["report"]["written"] == {
        "memories": 1
    }
    theirs = Lorebook.objects.create(owner=UserFactory(), name="Theirs", document={"entries": []})
    refused = api.post(url, {"lorebook": str(theirs.pk)}, format="multipart")
    assert refused.status_code == 400
    assert client_of(UserFactory()).post(url, {}, format="multipart").status_code == 404


def test_settings_of_smart_memory_are_read_for_the_character_of_that_name(api: APIClient, mira: Character) -> None:
    document = {
        "memories": [{"id": "a", "type": "preference", "content": "Mira hates rain.", "importance": 2}],
        "canon": {"text": "Mira grew up by the sea."},
        "relationship_history": {"Mira→Alice": {"descriptors": [{"word": "warm", "magnitude": "high"}]}},
    }
    stored = {"extension_settings": {"smart_memory": {"characters": {"Mira": document}}}}
    url = f"/api/v1/characters/{mira.pk}/memories/import/"
    written = post_file(api, url, stored).data["report"]["written"]
    assert written == {"memories": 1, "entities": 2, "texts": 1, "relationships": 1}
    other = make_character(api.user, "Bo")
    refused = post_file(api, f"/api/v1/characters/{other.pk}/memories/import/", stored)
    assert (refused.status_code, "Mira" in json.dumps(refused.data)) == (400, True)


@pytest.mark.parametrize("content", [b"", b"{", b"[1]", b"\xff\xfe", b'{"mes": "x"}', b"\x89PNG\r\n\x1a\n"])
def test_a_file_without_memories_is_refused_by_name(api: APIClient, chat: Chat, content: bytes) -> None:
    response = post_file(api, f"/api/v1/chats/{chat.pk}/memories/import/", content)
    assert (response.status_code, response.data["errors"][0]["pointer"]) == (400, "/file")
    assert not Memory.objects.for_owner(api.user).exists()


def test_neither_a_file_nor_a_lorebook_or_both_is_refused(api: APIClient, chat: Chat) -> None:
    assert api.post(f"/api/v1/chats/{chat.pk}/memories/import/", {}, format="multipart").status_code == 400


def test_memories_exported_as_a_lorebook_are_known_when_it_is_imported(api: APIClient, chat: Chat) -> None:
    make_memory(chat, "The key is under the third stone.", triggers=["key"], pinned=True)
    make_memory(chat, "Mira hates rain.", kind=Memory.Kind.PREFERENCE)
    make_memory(chat, "The key is lost.", state=Memory.State.RETIRED)
    response = api.get(f"/api/v1/chats/{chat.pk}/memories/export/?format=lorebook")
    entries = json.loads(response.content)["entries"].values()
    assert {entry["content"]: entry["constant"] for entry in entries} == {
        "The key is under the third stone.": True,
        "Mira hates rain.": False,
    }
    assert all(entry["key"] for entry in entries)
    again = post_file(api, f"/api/v1/chats/{chat.pk}/memories/import/", response.content)
    assert again.data["report"]["written"] == {"known": 2}


def test_markdown_has_what_is_remembered_and_no_markup_of_the_chat(api: APIClient, chat: Chat) -> None:
    make_memory(chat, "Mira wrote **# <b>No</b>** on the wall.")
    api.post(f"/api/v1/chats/{chat.pk}/arcs/", {"text": "Who locked the gate?"}, format="json")
    response = api.get(f"/api/v1/characters/{chat.character_id}/memories/export/?format=markdown")
    assert r"- Mira wrote \*\*\# \<b\>No\</b\>\*\* on the wall." in response.content.decode()
    of_chat = api.get(f"/api/v1/chats/{chat.pk}/memories/export/?format=markdown").content.decode()
    assert "- [ ] Who locked the gate?" in of_chat
    assert api.get(f"/api/v1/chats/{chat.pk}/memories/export/?format=pdf").status_code == 400


def test_the_page_imports_a_file_and_says_what_it_read(client: Client, chat: Chat) -> None:
    client.force_login(chat.owner)
    url = f"/memories/chats/{chat.pk}/book/files/"
    assert "Lorebook for SillyTavern" in client.get(url).content.decode()
    done = client.post(url, {"file": SimpleUploadedFile("b.json", json.dumps(BOOK).encode())}, follow=True)
    assert "3 memories" in done.content.decode()
    empty = client.post(url, {})
    assert (empty.status_code, "Choose either a file or a lorebook." in empty.content.decode()) == (400, True)
    bad = client.post(url, {"file": SimpleUploadedFile("b.json", b"[]")})
    assert (bad.status_code, "Nothing was stored." in bad.content.decode()) == (400, True)
    client.force_login(UserFactory())
    assert client.get(url).status_code == 404
