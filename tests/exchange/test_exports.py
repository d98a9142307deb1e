"""Chats written as files."""

import io
import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.test import AsyncClient
from hypothesis import given, settings
from hypothesis import strategies as st
from rest_framework.test import APIClient

from apps.chats import operations
from apps.chats.locking import Guard
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.models import Chat
from apps.chats.queries import MAX_WINDOW
from apps.exchange.chats.exports import export_filename, export_jsonl
from apps.exchange.chats.imports import import_chats
from apps.exchange.formats.sillytavern import NO_HEADER
from apps.exchange.formats.sillytavern_lines import parse_message
from tests.contract.conftest import client_of
from tests.coroutines import in_thread
from tests.exchange.test_sillytavern import HEADER, PLAIN, SWIPED, message_lines, text
from tests.properties import WITH_DATABASE

pytestmark = pytest.mark.django_db
NAMELESS = {"user_name": "unused", "character_name": "unused"}
ODD = {"mes": {"message": "b"}, "is_user": "true", "swipes": [{"message": "a"}, None], "swipe_id": 7}
FILES = {
    "current": [{"chat_metadata": {"z": 1, "a": [None]}} | NAMELESS, PLAIN],
    "2023": [{"user_name": "You", "character_name": "A", "create_date": 1674559896839}, SWIPED],
    "without a header": [PLAIN, SWIPED],
    "header alone": [HEADER],
    "no names": [{"user_name": "", "character_name": None, "chat_metadata": None}, PLAIN],
    "odd": [HEADER, ODD],
}


@pytest.fixture
def alice() -> Any:
    return get_user_model().objects.create_user(email="alice@example.com", password="x")


def take_in(owner: Any, *lines: Any) -> Chat:
    [chat] = import_chats(owner, io.BytesIO(text(*lines)), filename="The gate.jsonl").chats
    return Chat.objects.for_owner(owner).get(pk=chat.pk)


def exported(chat: Chat) -> list[str]:
    """The lines of the export, as JSON text in which the order of keys shows."""
    content = b"".join(export_jsonl(chat)).decode()
    return [json.dumps(json.loads(line)) for line in content.split("\n")]


def parsed(line: dict[str, Any]) -> ParsedMessage:
    return parse_message(line, NO_HEADER, lambda _: None)


class TestRoundTrip:
    @pytest.mark.parametrize("name", FILES)
    def test_an_untouched_chat_comes_back_line_for_line(self, alice: Any, name: str) -> None:
        assert exported(take_in(alice, *FILES[name])) == [json.dumps(line) for line in FILES[name]]

    def test_a_chat_of_several_windows_without_a_line_end_at_its_end(self, alice: Any) -> None:
        lines = [HEADER, *[PLAIN | {"mes": str(i)} for i in range(2 * MAX_WINDOW + 1)]]
        chat = take_in(alice, *lines)
        assert exported(chat) == [json.dumps(line) for line in lines]
        assert not b"".join(export_jsonl(chat)).endswith(b"\n")

    def test_an_edit_changes_its_line_alone(self, alice: Any) -> None:
        chat = take_in(alice, HEADER, SWIPED, PLAIN)
        patch = operations.Patch({"mes": "Barred.", "is_system": True}, index=0)
        operations.patch_messages(alice, chat.pk, [patch], Guard(integrity=chat.integrity))
        changed = SWIPED | {"mes": "Barred.", "is_system": True, "swipes": ["It is open.", "Barred."]}
        assert exported(chat) == [json.dumps(line) for line in (HEADER, changed, PLAIN)]

    def test_what_was_appended_comes_out_as_it_was_sent(self, alice: Any) -> None:
        chat = take_in(alice, HEADER, PLAIN)
        operations.append_messages(alice, chat.pk, [parsed(SWIPED)])
        assert exported(chat) == [json.dumps(line) for line in (HEADER, PLAIN, SWIPED)]

    def test_an_export_imported_again_is_the_same_chat(self, alice: Any) -> None:
        chat = take_in(alice, HEADER, PLAIN, SWIPED)
        again = take_in(alice, *exported(chat))
        assert exported(again) == exported(chat)

    def test_names_that_were_changed_show_in_the_header(self, alice: Any) -> None:
        chat = take_in(alice, HEADER, PLAIN)
        chat = operations.update_chat(chat, title="New", user_name="Vera", character=chat.character)
        assert exported(chat) == [json.dumps(line) for line in (HEADER | {"user_name": "Vera"}, PLAIN)]

    def test_a_chat_begun_here(self, alice: Any) -> None:
        character = operations.create_character(alice, name="Anselm")
        chat = operations.create_chat(alice, title="New", character=character, user_name="Wanda", metadata={"k": 1})
        operations.append_messages(alice, chat.pk, [parsed(PLAIN)])
        header, message = map(json.loads, exported(chat))
        assert (header["user_name"], header["character_name"]) == ("Wanda", "Anselm")
        assert header["chat_metadata"] == {"k": 1}
        assert message == PLAIN

    @settings(max_examples=WITH_DATABASE)
    @given(lines=st.lists(message_lines(), min_size=1, max_size=8))
    def test_whatever_a_line_holds(self, lines: list[dict[str, Any]]) -> None:
        owner, _ = get_user_model().objects.get_or_create(email="bob@example.com")
        assert exported(take_in(owner, HEADER, *lines)) == [json.dumps(line) for line in (HEADER, *lines)]


@pytest.mark.parametrize(
    ("title", "filename"),
    [('a/b: "c"\r\nX: d', "a_b_ _c___X_ d.jsonl"), ("..", "chat.jsonl"), ("Ænigma – 1", "Ænigma – 1.jsonl")],
)
def test_the_file_is_named_for_the_chat(title: str, filename: str) -> None:
    assert export_filename(Chat(title=title)) == filename


class TestApi:
    def test_it_streams_a_file(self, alice: Any) -> None:
        chat = take_in(alice, HEADER, PLAIN)
        api = client_of(alice)
        for query, accept in [("", "*/*"), ("?format=jsonl", "application/jsonl")]:
            reply = api.get(f"/api/v1/chats/{chat.pk}/export/{query}", headers={"Accept": accept})
            assert reply.status_code == 200
            assert reply["Content-Disposition"] == 'attachment; filename="The gate.jsonl"'
            assert reply.getvalue().decode().split("\n")[1] == json.dumps(PLAIN, separators=(",", ":"))

    def test_another_format_is_refused(self, alice: Any) -> None:
        api = client_of(alice)
        reply = api.get(f"/api/v1/chats/{take_in(alice, PLAIN).pk}/export/?format=exe")
        assert reply.status_code == 400
        assert reply.json()["errors"][0]["pointer"] == "/format"

    def test_somebody_elses_chat_does_not_exist(self, alice: Any) -> None:
        chat = take_in(alice, PLAIN)
        charlie = get_user_model().objects.create_user(email="charlie@example.com", password="x")
        api = APIClient()
        assert api.get(f"/api/v1/chats/{chat.pk}/export/").status_code == 401
        api.force_authenticate(charlie)
        assert api.get(f"/api/v1/chats/{chat.pk}/export/").status_code == 404

    @pytest.mark.django_db(transaction=True)  # read by a thread of its own
    def test_it_streams_under_asgi(self, alice: Any) -> None:
        chat = take_in(alice, HEADER, PLAIN)

        async def download() -> bytes:
            client = AsyncClient()
            await client.aforce_login(alice)
            reply = await client.get(f"/api/v1/chats/{chat.pk}/export/")
            assert reply.is_async
            return b"".join([chunk async for chunk in reply.streaming_content])

        assert in_thread(download) == b"".join(export_jsonl(chat))
