"""Chats taken in from files."""

import io
import json
from typing import Any

import pytest
from django.contrib.auth import get_user_model
from django.core.files.uploadedfile import SimpleUploadedFile
from django.utils import timezone
from rest_framework.test import APIClient

from apps.chats import locking
from apps.chats.models import Character, Chat, ChatChange, Message, Swipe
from apps.chats.signals import ChatChanged
from apps.common.problems import Invalid, TooLarge
from apps.common.scoping import system_scope
from apps.exchange.chats.imports import ImportResult, import_chats
from apps.exchange.formats import json_lines
from tests.contract.conftest import client_of

pytestmark = pytest.mark.django_db
URL = "/api/v1/chats/import/"
UNUSED = {"chat_metadata": {"tainted": True}, "user_name": "unused", "character_name": "unused"}
NAMED = {"user_name": "Wanda", "character_name": "Anselm", "create_date": "2024-07-12@01h31m37s"}


def turn(name: str, mes: str, *, is_user: bool = False, **rest: Any) -> dict[str, Any]:
    return {
        "name": name,
        "is_user": is_user,
        "is_system": False,
        "send_date": 1674563371558,
        "mes": mes,
        **rest,
    }


GATE = [turn("Wanda", "The gate?", is_user=True), turn("Anselm", "Shut.", extra={"model": "m"})]


def text(*lines: Any) -> bytes:
    return "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()


def take_in(owner: Any, *lines: Any, filename: str = "The gate.jsonl", **rest: Any) -> ImportResult:
    return import_chats(owner, io.BytesIO(text(*lines)), filename=filename, **rest)


@pytest.fixture
def alice() -> Any:
    return get_user_model().objects.create_user(email="alice@example.com", password="x")


@pytest.fixture
def charlie() -> Any:
    return get_user_model().objects.create_user(email="charlie@example.com", password="x")


@pytest.fixture
def api(alice: Any) -> APIClient:
    return client_of(alice)


def post(api: APIClient, content: bytes, name: str = "The gate.jsonl", **fields: Any) -> Any:
    return api.post(URL, {"file": SimpleUploadedFile(name, content), **fields}, format="multipart")


def stored_rows() -> int:
    with system_scope():
        return sum(model.objects.count() for model in (Chat, Message, Swipe, ChatChange, Character))


class TestImport:
    def test_a_chat_with_its_messages_and_swipes(self, alice: Any) -> None:
        swiped = turn("Anselm", "b", swipes=["a", "b"], swipe_id=1, swipe_info=[{"extra": {"k": 1}}, {}])
        [chat] = take_in(alice, NAMED | {"chat_metadata": {"b": 1, "a": 2}}, *GATE, swiped).chats
        chat = Chat.objects.for_owner(alice).get(pk=chat.pk)
        assert (chat.title, chat.user_name, chat.message_count, chat.rev) == ("The gate", "Wanda", 3, 1)
        assert list(chat.metadata) == ["b", "a"]
        assert chat.character is not None
        assert chat.character.name == "Anselm"
        messages = list(chat.messages.with_swipes().order_by("index"))
        assert [message.index for message in messages] == [0, 1, 2]
        assert [message.mes for message in messages] == ["The gate?", "Shut.", "b"]
        assert messages[1].extra == {"model": "m"}
        assert [(s.mes, s.extra) for s in messages[2].ordered_swipes] == [("a", {"k": 1}), ("b", {})]
        assert chat.last_active == messages[2].sent_at

    def test_it_is_one_change_announced_after_the_commit(
        self, alice: Any, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
    ) -> None:
        heard: list[ChatChanged] = []
        monkeypatch.setattr(locking, "enqueue_dispatch", heard.append)
        with django_capture_on_commit_callbacks(execute=True):
            [chat] = take_in(alice, *GATE).chats
        assert [change.kind for change in chat.changes.all()] == ["import"]
        assert [(event.chat_id, event.kind) for event in heard] == [(chat.pk, "import")]

    def test_more_messages_than_a_batch(self, alice: Any) -> None:
        [chat] = take_in(alice, NAMED, *[turn("Anselm", str(i)) for i in range(2100)]).chats
        assert chat.message_count == chat.messages.count() == 2100
        assert chat.messages.get(index=2099).mes == "2099"

    def test_names_come_from_the_speakers_where_the_header_has_none(self, alice: Any) -> None:
        [chat] = take_in(alice, UNUSED, *GATE).chats
        assert chat.user_name == "Wanda"
        assert chat.character is not None
        assert chat.character.name == "Anselm"

    def test_a_group_has_no_character(self, alice: Any) -> None:
        [chat] = take_in(alice, UNUSED, *GATE, turn("Ilse", "Hush.")).chats
        assert chat.character is None

    def test_a_character_of_that_name_is_taken_again_but_not_somebody_elses(self, alice: Any, charlie: Any) -> None:
        [first], [second] = take_in(alice, NAMED, *GATE).chats, take_in(alice, NAMED, *GATE).chats
        [other] = take_in(charlie, NAMED, *GATE).chats
        assert first.character == second.character != other.character

    def test_the_files_integrity_is_not_ours(self, alice: Any) -> None:
        header = {"chat_metadata": {"integrity": "5d1d4f6e-70b6-4a0e-9f1e-3f9fd4b1b0aa"}}
        [first], [second] = take_in(alice, header, *GATE).chats, take_in(alice, header, *GATE).chats
        assert str(first.integrity) != header["chat_metadata"]["integrity"]
        assert first.integrity != second.integrity

    def test_a_date_in_the_future_does_not_lead_the_list(self, alice: Any) -> None:
        [chat] = take_in(alice, turn("A", "b", send_date="2999-01-01T00:00:00Z")).chats
        assert chat.last_active <= timezone.now()

    @pytest.mark.parametrize(
        ("filename", "title"),
        [("C:\\chats\\Aqua.jsonl", "Aqua"), ("a/b", "b"), ("", "Imported chat"), ("x" * 300, "x" * 200)],
    )
    def test_the_title_is_that_of_the_file(self, alice: Any, filename: str, title: str) -> None:
        assert take_in(alice, *GATE, filename=filename).chats[0].title == title

    def test_a_file_that_is_no_chat_leaves_nothing(self, alice: Any) -> None:
        for content in (b"", b"\x89PNG\r\n", b"{", bytes(100)):
            with pytest.raises(Invalid):
                import_chats(alice, io.BytesIO(content), filename="x.jsonl")
        assert stored_rows() == 0

    def test_a_file_above_the_limit(self, alice: Any, settings: Any) -> None:
        settings.IMPORT_MAX_BYTES = len(text(*GATE)) - 1
        with pytest.raises(TooLarge):
            take_in(alice, *GATE)

    def test_a_failure_halfway_leaves_nothing(self, alice: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        class Torn(io.BytesIO):
            def readline(self, *args: Any) -> bytes:
                if self.tell() > 100_000:
                    raise OSError("The disk is gone.")
                return super().readline(*args)

        torn = Torn(text(NAMED, *[turn("Anselm", "x" * 80)] * 2000))
        with pytest.raises(OSError, match="gone"):
            import_chats(alice, torn, filename="x.jsonl")
        assert stored_rows() == 0

    def test_odd_values_reach_the_database(self, alice: Any) -> None:
        odd = (
            r'{"name":"\u0000","mes":"\ud800","send_date":{"a":NaN},"extra":{"n":'
            + "9" * 4000
            + r',"f":1e308,"\u0000":"x"},"is_user":"yes","swipes":[null,7,{"message":"m"}],"swipe_id":1e300}'
        )
        [chat] = take_in(alice, NAMED, odd, turn("A", "b", send_date="0001-01-01T00:00:00Z")).chats
        message = chat.messages.with_swipes().get(index=0)
        assert message.mes == "\ufffd"
        assert message.extra == {"n": int("9" * 4000), "f": 1e308, "\ufffd": "x"}


class TestApi:
    def test_it_replies_with_the_chat_and_the_report(self, api: APIClient) -> None:
        reply = post(api, b"\xef\xbb\xbf" + text(NAMED, *GATE, '{"mes"'))
        assert reply.status_code == 201
        body = reply.json()
        assert body["chats"][0]["title"] == "The gate"
        assert body["chats"][0]["message_count"] == 2
        assert body["report"]["messages"] == 2
        assert [skip["line"] for skip in body["report"]["skipped_lines"]] == [4]
        window = api.get(f"/api/v1/chats/{body['chats'][0]['id']}/messages/").json()
        assert [message["mes"] for message in window["results"]] == ["The gate?", "Shut."]

    def test_a_title_and_a_character_of_ones_own(self, api: APIClient, alice: Any) -> None:
        ilse = Character.objects.create(owner=alice, name="Ilse")
        chat = post(api, text(NAMED, *GATE), title="At night", character=str(ilse.pk)).json()["chats"][0]
        assert (chat["title"], chat["character"]) == ("At night", str(ilse.pk))

    def test_somebody_elses_character_does_not_exist(self, api: APIClient, charlie: Any) -> None:
        theirs = Character.objects.create(owner=charlie, name="Ilse")
        reply = post(api, text(*GATE), character=str(theirs.pk))
        assert reply.status_code == 400
        assert reply.json()["errors"][0]["pointer"] == "/character"
        assert Chat.objects.for_owner(charlie).count() == 0

    @pytest.mark.parametrize(
        "content", [b"", b"\x89PNG\r\n\x1a\n", b"PK\x03\x04", b"no json", bytes(300), b"[" * 100_000]
    )
    def test_what_is_no_chat_is_a_problem_that_names_the_field(self, api: APIClient, content: bytes) -> None:
        reply = post(api, content)
        assert reply.status_code == 400
        assert reply["Content-Type"] == "application/problem+json"
        assert reply.json()["errors"][0]["pointer"] == "/file"
        assert stored_rows() == 0

    def test_a_request_without_a_file(self, api: APIClient) -> None:
        for fields in ({}, {"file": "text"}, {"file": SimpleUploadedFile("a", text(*GATE)), "titel": "x"}):
            reply = api.post(URL, fields, format="multipart")
            assert reply.status_code == 400
            assert reply.json()["errors"]
        assert api.post(URL, {"file": "x"}, format="json").status_code == 415
        broken = api.post(URL, b"--x\r\nnothing", content_type="multipart/form-data; boundary=")
        assert broken.status_code == 400

    def test_a_file_above_the_limit(self, api: APIClient, settings: Any) -> None:
        settings.IMPORT_MAX_BYTES = 1000
        for size in (1001, 200_000):
            reply = post(api, b"x" * size)
            assert reply.status_code == 413
            assert reply["Content-Type"] == "application/problem+json"

    def test_a_stranger_is_not_signed_in(self) -> None:
        assert post(APIClient(), text(*GATE)).status_code == 401

    def test_a_line_above_the_limit_is_in_the_report(self, api: APIClient, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(json_lines, "MAX_LINE_BYTES", 1000)
        report = post(api, text(NAMED, turn("A", "x" * 2000), *GATE)).json()["report"]
        assert [skip["line"] for skip in report["skipped_lines"]] == [2]
