"""A lorebook that is used in a chat goes with the chat's file, and comes back with an import."""

import io
import json
from typing import Any

import pytest

from apps.accounts.models import User
from apps.chats.models import Chat, ImportJob, Lorebook
from apps.chats.operations import branch_chat, create_lorebook, update_lorebook
from apps.chats.queries import lorebooks_in
from apps.exchange.chats.exports import export_json, export_jsonl
from apps.exchange.chats.imports import ImportResult, import_chats
from tests.exchange.cards_made import BOOK
from tests.factories import UserFactory, make_character, make_chat

pytestmark = pytest.mark.django_db
EXPORTS: dict[str, Any] = {"json": export_json, "jsonl": export_jsonl}
each_format = pytest.mark.parametrize("form", EXPORTS)


@pytest.fixture
def alice() -> User:
    return UserFactory()


@pytest.fixture
def chat(alice: User) -> Chat:
    chat = make_chat(alice, "Where is the stone?", "Here.", "And now?", "Gone.", character=make_character(alice))
    create_lorebook(alice, name="The valley", document=BOOK, chat=chat)
    create_lorebook(alice, name="The sea", document=BOOK | {"description": "Salt."}, chat=chat)
    return chat


def file_of(chat: Chat, form: str) -> bytes:
    return b"".join(EXPORTS[form](chat))


def take_in(owner: User, content: bytes, **options: Any) -> ImportResult:
    return import_chats(owner, io.BytesIO(content), filename="chat.json", **options)


def books_of(chat: Chat) -> list[tuple[str, Any]]:
    return [(book.name, book.document) for book in lorebooks_in(chat, chat.character)]


@each_format
def test_a_file_carries_lorebooks_to_another_account_and_back(chat: Chat, form: str) -> None:
    content = file_of(chat, form)
    bob = UserFactory()
    (taken,) = take_in(bob, content).chats
    assert books_of(taken) == books_of(chat)
    assert {book.owner_id for book in lorebooks_in(taken, None)} == {bob.pk}
    assert "loci" not in taken.metadata
    (again,) = take_in(chat.owner, file_of(taken, form)).chats
    assert books_of(again) == books_of(chat)
    assert Lorebook.objects.for_owner(chat.owner).count() == 4


def test_a_file_of_sillytavern_names_the_lorebook_and_is_as_before_without_it(chat: Chat) -> None:
    (taken,) = take_in(UserFactory(), file_of(chat, "jsonl")).chats
    header = json.loads(file_of(taken, "jsonl").splitlines()[0])
    assert header["chat_metadata"]["world_info"] == "The valley"
    assert [book["data"]["name"] for book in header["chat_metadata"]["loci"]["lorebooks"]] == ["The valley", "The sea"]
    Lorebook.objects.for_owner(taken.owner).delete()
    header["chat_metadata"] = {"tainted": True, "note": "x"}
    line = json.dumps(header, separators=(",", ":"))
    plain = line.encode() + b'\n{"name":"Alice","is_user":true,"mes":"Hi"}'
    (plainly,) = take_in(taken.owner, plain).chats
    assert file_of(plainly, "jsonl") == plain


@each_format
def test_an_update_of_a_stored_chat_neither_loses_nor_doubles_lorebooks(chat: Chat, form: str) -> None:
    content = file_of(chat, form)
    book = lorebooks_in(chat, None)[0]
    update_lorebook(book, description="Changed here.")
    before = books_of(chat)
    result = take_in(chat.owner, content, existing=ImportJob.Existing.UPDATE)
    assert result.updated == [chat.pk]
    assert all(book in books_of(chat) for book in before)
    assert not Lorebook.objects.for_owner(chat.owner).filter(chat=None).exists()
    assert Lorebook.objects.for_owner(chat.owner).count() == 3  # both versions of the changed one
    take_in(chat.owner, content, existing=ImportJob.Existing.UPDATE)
    assert Lorebook.objects.for_owner(chat.owner).count() == 3


def test_a_lorebook_that_the_character_has_is_not_doubled_and_a_branch_exports_its_parents(chat: Chat) -> None:
    create_lorebook(chat.owner, name="Hers", document=BOOK, chat=chat, character=chat.character)
    branch = branch_chat(chat.owner, chat.pk, 1)
    (taken,) = take_in(chat.owner, file_of(branch, "json")).chats
    assert sorted(name for name, _ in books_of(taken)) == ["Hers", "The sea", "The valley"]


def test_damaged_lorebooks_are_reported_and_the_chat_is_imported(chat: Chat) -> None:
    document = json.loads(file_of(chat, "json"))
    document["chat"]["lorebooks"] = [3, {"spec": "lorebook_v3", "data": {"entries": [7], "name": "\x00"}}, None]
    result = take_in(UserFactory(), json.dumps(document).encode())
    assert len(result.chats) == 1
    assert "Lorebook 1" in " ".join(result.report.warnings)


def test_the_lorebook_that_sillytavern_names_is_used_if_it_is_free(alice: User) -> None:
    book = create_lorebook(alice, name="Eldoria", document=BOOK)
    header = {"user_name": "Alice", "character_name": "Mira", "chat_metadata": {"world_info": "Eldoria"}}
    content = "\n".join(map(json.dumps, [header, {"name": "Alice", "is_user": True, "mes": "Hi"}])).encode()
    chats = [chat for _ in range(2) for chat in take_in(alice, content).chats]
    book.refresh_from_db()
    assert book.chat == chats[0]
