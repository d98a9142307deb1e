"""Chat files of every format: told apart, refused by name, and bounded."""

import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.exchange.formats import archives
from apps.exchange.formats.files import parse_file
from apps.exchange.formats.parsed import UnreadableFile
from tests.exchange.chat_files import chats_in, only_chat, opened, reason_for, said
from tests.exchange.test_chatgpt import line, says
from tests.exchange.test_claude import says as claude_says
from tests.exchange.test_claude import talk

MESSAGE = {"name": "Ilse", "is_user": False, "mes": "Here."}
HEADER = {"chat_metadata": {}, "user_name": "Wanda", "character_name": "Ilse"}

KEYS = st.sampled_from(
    "actions prompt savedsettings histories data_visible visible messages msgs msg retries src text type risuChat"
    " risuAllChats data message role format loom-standard conversations content mapping current_node parent children"
    " author parts chat_messages sender uuid parent_message_uuid mes swipes swipe_id extra name chat_metadata"
    " marinara_swipes is_user opmode chatname chatopponent".split()
)
LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | KEYS
ANYTHING = st.recursive(LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=6))

# Documents of each format, with anything where their chats, their messages, or parts of a message should be.
FRAMES: list[Callable[[Any], Any]] = [
    lambda x: {"gamestarted": True, "prompt": x, "actions": x, "savedsettings": x},
    lambda x: {"histories": x},
    lambda x: {"histories": {"histories": [{"msgs": x}, {"msgs": [x, {"src": x, "text": x, "created": x}]}]}},
    lambda x: {"data_visible": x, "data": x},
    lambda x: {"messages": [x, {"msg": x, "handle": x, "userId": x, "retries": x, "createdAt": x}], "name": x},
    lambda x: {"chat": {"metadata": x, "title": x, "user_name": x}, "messages": [x, {"mes": x, "swipes": x}]},
    lambda x: {"type": "risuChat", "data": x},
    lambda x: {"type": "risuChat", "data": {"name": x, "message": [{"data": x, "role": x, "time": x, "name": x}]}},
    lambda x: {"type": "risuAllChats", "data": [x, {"message": x}]},
    lambda x: {"format": "loom-standard", "conversations": [x, {"messages": [{"content": x, "role": x, "model": x}]}]},
    lambda x: {"treeLeafId": "a", "messages": [x, {"msg": x, "_id": "a", "parent": x}, {"msg": x, "parent": "a"}]},
    lambda x: {"visible": [["a", "b"]], "metadata": {"user_0": x, "assistant_0": {"versions": x, "attachments": x}}},
    lambda x: {"actions": ["a", x], "worldinfo": x, "authorsnote": x, "savedsettings": {"opmode": 4, "chatname": x}},
    lambda x: {"type": "risuChat", "data": {"localLore": x, "message": [{"data": "a", "role": "char", "saying": x}]}},
    lambda x: [{"chat": {"history": {"messages": {"a": x, "b": {"content": x, "files": x, "output": x}}}}}],
    lambda x: {
        "history": {"currentId": x, "messages": {"a": {"role": x, "content": "a", "parentId": x}}},
        "messages": x,
    },
    lambda x: {"messages": [x, {"messageId": x, "parentMessageId": x, "text": x, "content": x, "children": x}]},
    lambda x: {"messages": [x, {"role": x, "content": x, "name": x}]},
    lambda x: [x, {"role": "user", "content": x}],
    lambda x: [{"conversations": [{"from": x, "value": x}, x]}],
    lambda x: [{"chat_messages": [{"sender": "human", "content": x, "attachments": x}, {"sender": x, "text": x}]}],
    lambda x: [{"mapping": {"a": {"message": {"content": {"parts": ["\ue200a\ue201"]}, "metadata": x}}}}],
    lambda x: [{"mapping": x, "current_node": x}],
    lambda x: [{"mapping": {"a": x, "b": {"message": x, "parent": x, "children": x}}, "title": x, "create_time": x}],
    lambda x: [{"mapping": {"a": {"message": {"author": {"role": "user"}, "content": x, "create_time": x}}}}],
    lambda x: [{"mapping": {"a": {"message": {"author": {"role": "user"}, "content": {"parts": x}, "metadata": x}}}}],
    lambda x: [{"chat_messages": x, "name": x, "created_at": x}],
    lambda x: [{"chat_messages": [{"sender": x, "text": x, "content": x, "uuid": x, "attachments": x}]}],
    lambda x: [{"mes": x, "extra": {"marinara_swipes": x, "marinara_role": x}, "swipes": x, "swipe_id": x}],
]


def lines(*values: Any) -> bytes:
    return "\n".join(json.dumps(value) for value in values).encode()


def zipped(**files: bytes) -> bytes:
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name.replace("__", "/"), content)
    return target.getvalue()


class TestSillyTavern:
    def test_lines(self) -> None:
        chat, messages = only_chat(lines(HEADER, MESSAGE))
        assert said(messages) == [("Ilse", False, "Here.")]
        assert chat.report.as_dict() == {"format": "sillytavern", "messages": 1, "skipped_lines": [], "warnings": []}

    @pytest.mark.parametrize("first", [b"{garbage", b'{"a": 1}', b'"text"', b"[1]", b"\xef\xbb\xbf"])
    def test_a_first_line_that_tells_nothing(self, first: bytes) -> None:
        _, messages = only_chat(first + b"\n" + lines(MESSAGE, MESSAGE))
        assert len(messages) == 2

    def test_a_list_of_messages_or_of_strings(self) -> None:
        chat, messages = only_chat([HEADER, MESSAGE, 7, MESSAGE])
        assert len(messages) == 2
        assert chat.header.user_name == "Wanda"
        assert chat.report.skipped_lines == [{"line": 3, "reason": "Message 3: Not a JSON object."}]
        _, messages = only_chat(["Aqua: Hi.\n", "You: Ho.\n"])
        assert said(messages) == [("Aqua", False, "Hi."), ("You", True, "Ho.")]

    def test_a_group_chat_keeps_who_speaks_and_in_which_round(self) -> None:
        speakers = [
            {"name": name, "is_user": False, "mes": "Aye.", "original_avatar": f"{name}.png", "extra": {"gen_id": 17}}
            for name in ("Ilse", "Anselm")
        ]
        for header in ([], [{"chat_metadata": {}, "user_name": "unused", "character_name": "unused"}]):
            chat, messages = only_chat(lines(*header, *speakers))
            assert [message.name for message in messages] == ["Ilse", "Anselm"]
            assert [message.active.extra for message in messages] == [{"gen_id": 17}, {"gen_id": 17}]
            assert ["Ilse.png" in messages[0].layout, "Anselm.png" in messages[1].layout] == [True, True]
            assert chat.header.character_name == ""

    def test_chub_wraps_its_texts(self) -> None:
        wrapped = MESSAGE | {"mes": {"message": "Two."}, "swipes": [{"message": "One."}, {"message": "Two."}]}
        _, [message] = only_chat(lines(HEADER, wrapped | {"swipe_id": 1}))
        assert [swipe.mes for swipe in message.swipes] == ["One.", "Two."]
        assert (message.swipe_id, message.active.mes) == (1, "Two.")


class TestOwnExport:
    def test_a_chat_comes_back(self) -> None:
        swipes = {"swipes": ["One.", "Two."], "swipe_id": 1, "swipe_info": [{"extra": {"a": 1}}, {"extra": {}}]}
        written = {"id": "x", "index": 0, "rev": 3, "participant": None, "hidden": True, "extra": {"b": 2}}
        document = {
            "chat": {"id": "y", "title": "At the gate", "user_name": "Wanda", "metadata": {"note": 1}},
            "messages": [MESSAGE | written | swipes | {"mes": "Two.", "is_system": True}, 7],
        }
        chat, [message] = only_chat(document)
        assert (chat.title, chat.header.user_name, chat.header.metadata) == ("At the gate", "Wanda", {"note": 1})
        assert [swipe.mes for swipe in message.swipes] == ["One.", "Two."]
        assert (message.swipe_id, message.is_system, message.layout) == (1, True, "")
        assert [swipe.extra for swipe in message.swipes] == [{"a": 1}, {"b": 2}]
        assert chat.report.format == "loci"
        assert [skip["line"] for skip in chat.report.skipped_lines] == [2]


class TestRefused:
    @pytest.mark.parametrize(
        ("document", "kind"),
        [
            ({"name": "A", "description": "", "first_mes": "Hi.", "mes_example": ""}, "character card"),
            ({"spec": "chara_card_v3", "data": {"name": "A"}}, "character card"),
            ({"data": {"name": "A"}, "spec": "chara_card_v2"}, "character card"),
            (b"\x89PNG\r\n\x1a\n....tEXtchara\0e30=", "character card"),
            (b"\x89PNG\r\n\x1a\n", "PNG image"),
            (b"\xff\xd8\xff\xe0", "JPEG image"),
            (b"\x1f\x8b", "gzip"),
            ({"entries": {"0": {"key": ["a"]}}}, "lorebook"),
            ({"spec": "lorebook_v3", "data": {}}, "lorebook"),
            ({"temperature": 1, "top_p": 1}, "preset"),
            ({"a": 1, "b": [2]}, "not in a supported chat format"),
            ([{"a": 1}], "not in a supported chat format"),
            (b"", "empty"),
            (b" \n ", "empty"),
            (b"Anna: Hello", "Not valid JSON"),
            ([], "empty"),
        ],
    )
    def test_the_reason_says_what_it_is(self, document: Any, kind: str) -> None:
        assert kind in reason_for(document)

    @pytest.mark.parametrize("start", [b"[", b'{"a":', b'{"messages":', b'[{"mapping":', b'{"messages":[', b'"'])
    def test_endless_nesting(self, start: bytes) -> None:
        assert reason_for(start * 100_000)
        assert reason_for(start * 30)

    @given(ANYTHING)
    def test_any_json_is_read_or_refused(self, document: Any) -> None:
        self.read(json.dumps(document).encode())

    @given(st.sampled_from(FRAMES), ANYTHING)
    def test_anything_in_the_frame_of_a_format(self, frame: Callable[[Any], Any], inner: Any) -> None:
        self.read(json.dumps(frame(inner)).encode())

    @given(st.lists(ANYTHING, min_size=1, max_size=4))
    def test_any_lines_are_read_or_refused(self, values: list[Any]) -> None:
        self.read(lines(*values))

    @given(st.binary(max_size=300), st.sampled_from([b"", b"PK\x03\x04", b"PK\x05\x06", b"[", b'{"actions":[']))
    def test_any_bytes_are_read_or_refused(self, content: bytes, start: bytes) -> None:
        self.read(start + content)

    @given(st.integers(0, 300), st.binary(max_size=3))
    def test_a_damaged_export_is_read_or_refused(self, at: int, junk: bytes) -> None:
        for document in (line(says("user", "Hi.")), talk(claude_says("human", "Hi."))):
            content = json.dumps([document]).encode()
            self.read(content[:at] + junk + content[at + len(junk) :])

    def read(self, content: bytes) -> None:
        with suppress(UnreadableFile):
            for chat, messages in chats_in(content):
                assert chat.report.messages == len(messages)
                for message in messages:
                    assert "\0" not in message.active.mes


class TestArchive:
    def test_an_export_of_each_kind(self) -> None:
        chatgpt = json.dumps([line(says("user", "One.")), line(says("user", "Two."))]).encode()
        found = chats_in(zipped(**{"chat.html": b"<p>", "user.json": b"{}", "conversations.json": chatgpt}))
        assert [messages[0].active.mes for _, messages in found] == ["One.", "Two."]
        claude = json.dumps([talk(claude_says("human", "Hi."))]).encode()
        file = opened(zipped(**{"data__conversations.json": claude, "users.json": b"[]"}))
        assert [chat.report.format for chat in file] == ["claude"]

    def test_an_export_in_several_files(self) -> None:
        parts = {f"conversations-00{n}.json": json.dumps([line(says("user", str(n)))]).encode() for n in range(3)}
        assert [messages[0].active.mes for _, messages in chats_in(zipped(**parts))] == ["0", "1", "2"]

    def test_a_folder_of_chats(self) -> None:
        files = {"chats__At the gate.jsonl": lines(HEADER, MESSAGE), "chats__settings.json": b"{}", "a.png": b"x"}
        file = opened(zipped(**files))
        assert [(chat.title, len(list(chat.messages))) for chat in file] == [("At the gate", 1)]
        [skip] = file.report.skipped_lines
        assert skip["reason"].startswith("File 2: settings.json: ")

    def test_what_holds_no_chat(self) -> None:
        assert "character card" in reason_for(zipped(**{"card.json": b"{}", "assets__a.png": b"x"}))
        assert reason_for(zipped(**{"a.txt": b"x"})).startswith("There is no chat in the file. Supported are chats of")
        assert "conversations.json: " in reason_for(zipped(**{"conversations.json": b"{}"}))
        assert reason_for(zipped(**{"a.jsonl": lines(MESSAGE)})[:-30]) == "The archive is damaged."

    def test_a_bomb_is_not_unpacked(self) -> None:
        bomb = zipped(**{"conversations.json": b'[{"mapping": "' + b" " * 50_000_000 + b'"}]'})
        assert len(bomb) < 100_000
        with pytest.raises(UnreadableFile, match="more than may be unpacked"):
            parse_file(io.BytesIO(bomb), max_unpacked=1_000_000)

    def test_the_limit_is_of_all_files_together(self) -> None:
        parts = {f"{n}.jsonl": lines(HEADER, MESSAGE | {"mes": "x" * 400_000}) for n in range(5)}
        chats = parse_file(io.BytesIO(zipped(**parts)), max_unpacked=1_000_000)
        with pytest.raises(UnreadableFile, match="more than may be unpacked"):
            sum(1 for chat in chats for _ in chat.messages)

    def test_too_many_files(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(archives, "MAX_FILES", 3)
        assert "more than 3 files" in reason_for(zipped(**{f"{n}.json": b"" for n in range(4)}))

    def test_a_file_that_is_encrypted_or_packed_otherwise(self) -> None:
        content = bytearray(zipped(**{"a.jsonl": lines(MESSAGE)}))
        at = content.index(b"PK\x01\x02")
        content[at + 8] |= 1
        assert "damaged or encrypted" in reason_for(bytes(content))
        target = io.BytesIO()
        with zipfile.ZipFile(target, "w", zipfile.ZIP_LZMA) as archive:
            archive.writestr("a.jsonl", lines(MESSAGE))
        assert "compression method" in reason_for(target.getvalue())


class TestMemory:
    def test_a_large_export_is_never_held_as_a_whole(self) -> None:
        whole = json.dumps([line(*(says("user", "word " * 500) for _ in range(4)))] * 700).encode()
        messages = lines(HEADER, *[MESSAGE | {"mes": "word " * 2500}] * 800)
        agnai = json.dumps({"messages": [{"msg": "word " * 2500}] * 800, "name": "x"}).encode()
        for content in (whole, messages, agnai, b"[" + b",".join(messages.splitlines()) + b"]"):
            file = io.BytesIO(content)
            tracemalloc.start()
            count = sum(1 for chat in parse_file(file) for _ in chat.messages)
            peak = tracemalloc.get_traced_memory()[1]
            tracemalloc.stop()
            assert count >= 800
            assert len(content) > 6_000_000
            assert peak < 3_500_000
