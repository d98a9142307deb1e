"""SillyTavern's chat files, read and written again."""

import io
import json
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from apps.chats.message_data.layout import forget_layout
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.exchange.formats import json_lines
from apps.exchange.formats.parsed import ParsedChat, UnreadableFile
from apps.exchange.formats.sillytavern import parse
from apps.exchange.formats.sillytavern_lines import render_header, render_message

HEADER = {
    "user_name": "Wanda",
    "character_name": "Brother Anselm",
    "create_date": "2024-07-12@01h31m37s123ms",
    "chat_metadata": {"note_prompt": "", "integrity": "5d1d4f6e-70b6-4a0e-9f1e-3f9fd4b1b0aa"},
}
PLAIN = {"name": "Wanda", "is_user": True, "is_system": False, "send_date": 1674563371558, "mes": "The gate?"}
SWIPED = {
    "name": "Brother Anselm",
    "is_user": False,
    "is_system": False,
    "send_date": "June 19, 2023 2:20pm",
    "mes": "Shut since vespers.",
    "extra": {"gen_id": 1, "reasoning": "He lies."},
    "swipes": ["It is open.", "Shut since vespers."],
    "swipe_id": 1,
    "swipe_info": [
        {"send_date": "June 19, 2023 2:19pm", "gen_started": None, "extra": {"gen_id": 0}},
        {"send_date": "June 19, 2023 2:20pm", "extra": {"gen_id": 1, "reasoning": "He lies."}},
    ],
    "force_avatar": "/thumbnail?type=avatar&file=Anselm.png",
}


def text(*lines: Any) -> bytes:
    return "\n".join(line if isinstance(line, str) else json.dumps(line) for line in lines).encode()


def read(content: bytes) -> tuple[ParsedChat, list[ParsedMessage]]:
    chat = parse(io.BytesIO(content))
    return chat, list(chat.messages)


def read_one(line: Any) -> ParsedMessage:
    _, [message] = read(text(HEADER, line))
    return message


def reasons(chat: ParsedChat) -> dict[int, str]:
    return {skip["line"]: skip["reason"] for skip in chat.report.skipped_lines}


def same(rendered: str, line: Any) -> bool:
    """Equal as JSON values, the order of keys included."""
    return json.dumps(json.loads(rendered)) == json.dumps(line)


def header_line(chat: ParsedChat) -> str | None:
    header = chat.header
    return render_header(
        user_name=header.user_name,
        character_name=header.character_name,
        create_date="",
        metadata=header.metadata,
        layout=header.layout,
    )


class TestFile:
    def test_a_current_file(self) -> None:
        header = {"chat_metadata": {"tainted": True}, "user_name": "unused", "character_name": "unused"}
        chat, messages = read(text(header, PLAIN, SWIPED))
        assert (chat.header.user_name, chat.header.character_name) == ("", "")
        assert chat.header.metadata == {"tainted": True}
        assert [message.active.mes for message in messages] == ["The gate?", "Shut since vespers."]
        assert same(header_line(chat) or "", header)
        expected = {"format": "sillytavern", "messages": 2, "skipped_lines": [], "warnings": []}
        assert chat.report.as_dict() == expected

    def test_a_header_of_2023_names_both(self) -> None:
        header = {"user_name": "You", "character_name": "Anselm", "create_date": 1674559896839}
        chat, _ = read(text(header, PLAIN))
        assert (chat.header.user_name, chat.header.character_name) == ("You", "Anselm")
        assert chat.header.created_at is not None
        assert same(header_line(chat) or "", header)

    def test_without_a_header_the_first_line_is_a_message(self) -> None:
        chat, messages = read(text(PLAIN, SWIPED))
        assert len(messages) == 2
        assert header_line(chat) is None

    def test_a_header_alone_is_an_empty_chat(self) -> None:
        chat, messages = read(text(HEADER))
        assert messages == []
        assert chat.report.messages == 0

    @pytest.mark.parametrize(
        "content",
        [
            b"\xef\xbb\xbf" + text(HEADER, PLAIN),
            text(HEADER, PLAIN) + b"\n",
            text(HEADER, PLAIN).replace(b"\n", b"\r\n") + b"\r\n",
            b"\n\n  \n" + text(HEADER, "", " \t", PLAIN, "", ""),
        ],
        ids=["byte order mark", "newline at the end", "CRLF", "blank lines"],
    )
    def test_white_space_and_marks_mean_nothing(self, content: bytes) -> None:
        chat, messages = read(content)
        assert chat.header.user_name == "Wanda"
        assert len(messages) == 1
        assert chat.report.skipped_lines == []

    def test_lines_may_come_from_any_iterable(self) -> None:
        chat = parse(iter(text(HEADER, PLAIN).splitlines(keepends=True)))
        assert len(list(chat.messages)) == 1

    def test_a_last_line_that_was_cut_off_is_reported(self) -> None:
        chat, messages = read(text(HEADER, PLAIN, SWIPED)[:-20])
        assert len(messages) == 1
        assert list(reasons(chat)) == [3]
        assert "Not valid JSON" in reasons(chat)[3]

    def test_a_corrupt_header_costs_only_itself(self) -> None:
        chat, messages = read(text('{"user_name":"Wanda","chat_meta', PLAIN))
        assert list(reasons(chat)) == [1]
        assert len(messages) == 1
        assert header_line(chat) is None

    def test_zeros_after_a_crash_cost_only_their_line(self) -> None:
        chat, messages = read(b"\0" * 50 + b"\n" + text(PLAIN))
        assert list(reasons(chat)) == [1]
        assert len(messages) == 1

    def test_lines_that_are_no_messages(self) -> None:
        chat, messages = read(text(HEADER, [1], "7", {"a": 1}, HEADER, PLAIN, '"text"'))
        assert list(reasons(chat)) == [2, 3, 4, 5, 7]
        assert reasons(chat)[5] == "A second header."
        assert len(messages) == 1

    def test_a_line_that_is_too_long_is_skipped(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(json_lines, "MAX_LINE_BYTES", 500)
        long = PLAIN | {"mes": "x" * 2000}
        for source in (io.BytesIO(text(HEADER, long, PLAIN)), text(HEADER, long, PLAIN).splitlines(True)):
            chat = parse(source)
            assert [message.active.mes for message in chat.messages] == ["The gate?"]
            assert "Longer than" in reasons(chat)[2]

    @pytest.mark.parametrize("depth", [100, 100_000])
    def test_a_line_nested_too_deeply_is_skipped(self, depth: int) -> None:
        deep = '{"name":"A","mes":"","extra":' + '{"a":' * depth + "1" + "}" * depth + "}"
        chat, messages = read(text(HEADER, deep, PLAIN))
        assert reasons(chat) == {2: "Nested too deeply."}
        assert len(messages) == 1

    def test_a_chat_from_before_json_lines(self) -> None:
        strings = ["Anselm: The gate is shut.\n", "You: Why: who ordered it?\n", "no speaker\n"]
        for content in (json.dumps(strings), json.dumps(strings, indent=1)):
            chat, messages = read(content.encode())
            assert [(m.name, m.is_user, m.active.mes) for m in messages] == [
                ("Anselm", False, "The gate is shut."),
                ("You", True, "Why: who ordered it?"),
                ("", False, "no speaker"),
            ]
            assert header_line(chat) is None

    def test_a_broken_first_line_that_looks_like_an_array(self) -> None:
        chat, messages = read(text("[broken", HEADER, PLAIN))
        assert chat.header.user_name == "Wanda"
        assert list(reasons(chat)) == [1]
        assert len(messages) == 1

    def test_thousands_of_broken_lines_are_listed_up_to_a_limit(self) -> None:
        chat, _ = read(text(HEADER, *["{"] * 1500))
        assert len(chat.report.skipped_lines) == 1000
        assert chat.report.warnings == ["500 more lines were skipped."]


@pytest.mark.parametrize(
    ("content", "word"),
    [
        (b"", "empty"),
        (b"\xef\xbb\xbf \r\n\n", "empty"),
        (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "PNG"),
        (b"PK\x03\x04" + bytes(100), "ZIP"),
        (text(HEADER, PLAIN).decode().encode("utf-16"), "UTF-16"),
        (text(HEADER, PLAIN).decode().encode("utf-16-le"), "No line"),
        (bytes(range(256)) * 50, "No line"),
        (b"Just a letter.\nTo nobody.", "No line"),
        (text("{", '{"name"'), "No line"),
        (json.dumps({"name": "Anselm", "first_mes": "Hail.", "create_date": "x"}).encode(), "No line"),
        (b"[]", "empty"),
        (b"[1, 2]", "No line"),
    ],
)
def test_a_file_that_is_no_chat(content: bytes, word: str) -> None:
    with pytest.raises(UnreadableFile, match=word):
        parse(io.BytesIO(content))


class TestRepairs:
    def test_a_bare_message(self) -> None:
        message = read_one({"mes": "Hail."})
        assert (message.name, message.is_user, message.is_system) == ("Brother Anselm", False, False)
        assert (message.send_date, message.sent_at) == ("", None)
        assert message.swipes == (ParsedSwipe("Hail."),)
        assert read_one({"mes": "Hail.", "is_user": True}).name == "Wanda"

    def test_flags_of_other_types(self) -> None:
        for value, meaning in [("true", True), ("false", False), (1, True), (0, False), (None, False)]:
            message = read_one(PLAIN | {"is_user": value, "is_system": value})
            assert (message.is_user, message.is_system) == (meaning, meaning)

    def test_texts_wrapped_in_objects(self) -> None:
        line = {
            "name": "A",
            "mes": {"message": "b"},
            "swipes": [{"message": "a"}, {"message": "b"}],
            "swipe_id": 1,
        }
        message = read_one(line)
        assert [swipe.mes for swipe in message.swipes] == ["a", "b"]
        assert message.active.mes == "b"
        assert same(render_message(message), line)

    def test_swipes_that_are_no_array(self) -> None:
        for swipes in ("text", 7, {"0": "a"}, None, []):
            message = read_one(SWIPED | {"swipes": swipes})
            assert [swipe.mes for swipe in message.swipes] == ["Shut since vespers."]
            assert message.active.extra == SWIPED["extra"]

    @pytest.mark.parametrize(
        ("swipe_id", "mes", "active", "texts"),
        [
            (9, "b", 1, ["a", "b"]),
            (-1, "a", 0, ["a", "b"]),
            ("1", "b", 1, ["a", "b"]),
            (1.0, "b", 1, ["a", "b"]),
            (None, "b", 1, ["a", "b"]),
            (True, "b", 1, ["a", "b"]),
            (10**40, "new", 2, ["a", "b", "new"]),
            (0, "edited", 0, ["edited", "b"]),
            (5, None, 0, ["a", "b"]),
        ],
    )
    def test_the_text_of_the_message_is_the_truth(self, swipe_id: Any, mes: Any, active: int, texts: list[str]) -> None:
        line = {"name": "A", "mes": mes, "swipes": ["a", "b"], "swipe_id": swipe_id}
        message = read_one(line)
        assert message.swipe_id == active
        assert [swipe.mes for swipe in message.swipes] == texts
        assert same(render_message(message), line)

    def test_the_data_of_the_active_swipe_is_that_of_swipe_info(self) -> None:
        """After a change of the swipe, `extra` may still hold what belongs to the one before."""
        infos = [{"extra": {"recap": {"memory": "first"}}}, {"extra": {"recap": {"memory": "second"}, "only": 1}}]
        line = SWIPED | {"extra": {"recap": {"memory": "first"}, "bias": 2}, "swipe_info": infos}
        message = read_one(line)
        assert message.active.extra == {"recap": {"memory": "second"}, "bias": 2, "only": 1}
        assert message.swipes[0].extra == {"recap": {"memory": "first"}}
        assert same(render_message(message), line)

    @pytest.mark.parametrize("more", [{}, {"extra": {}}, {"extra": {"recap": {"memory": "stale"}}}, {"swipes": []}])
    def test_data_that_stands_in_swipe_info_alone_is_taken(self, more: dict[str, Any]) -> None:
        line = PLAIN | {"swipe_id": 0, "swipe_info": [{"gen_id": 3, "extra": {"recap": {"memory": "kept"}}}]} | more
        message = read_one(line)
        assert (message.active.extra, message.active.info) == ({"recap": {"memory": "kept"}}, {"gen_id": 3})
        assert same(render_message(message), line)

    @pytest.mark.parametrize("info", [None, [], [None, None], [{}], "x", {"a": 1}, [1, {"extra": 4}, {}, {}]])
    def test_swipe_info_of_any_shape(self, info: Any) -> None:
        line = SWIPED | {"swipe_info": info}
        message = read_one(line)
        assert [swipe.mes for swipe in message.swipes] == SWIPED["swipes"]
        assert message.active.extra == SWIPED["extra"]
        assert same(render_message(message), line)

    def test_the_data_of_each_swipe_is_its_own(self) -> None:
        first, second = read_one(SWIPED).swipes
        assert first.extra == {"gen_id": 0}
        assert first.info == {"send_date": "June 19, 2023 2:19pm", "gen_started": None}
        assert second.extra == SWIPED["extra"]

    def test_what_postgres_cannot_hold_is_replaced_and_said(self) -> None:
        line = r'{"name":"A\u0000","mes":"\ud83d \ud83d\ude00","extra":{"k\udc00":["\u0000"]}}'
        chat, [message] = read(text(HEADER, line))
        assert message.name == "A\ufffd"
        assert message.active == ParsedSwipe("\ufffd \U0001f600", {"k\ufffd": ["\ufffd"]})
        assert "4 times, first on line 2" in chat.report.warnings[0]

    def test_bytes_that_are_not_utf8_are_replaced_and_said(self) -> None:
        chat, [message] = read(b'{"name":"A","mes":"caf\xe9"}')
        assert message.active.mes == "caf\ufffd"
        assert "UTF-8" in chat.report.warnings[0]

    def test_numbers_that_json_does_not_know_become_null(self) -> None:
        huge = "9" * 5000
        line = f'{{"name":"A","mes":"","extra":{{"a":NaN,"b":-Infinity,"c":1e999,"d":{huge},"e":1.46e18}}}}'
        chat, [message] = read(text(HEADER, line))
        assert message.active.extra == {"a": None, "b": None, "c": None, "d": None, "e": 1.46e18}
        assert "replaced by null" in chat.report.warnings[0]

    def test_of_duplicate_keys_the_last_wins(self) -> None:
        chat, [message] = read(text(HEADER, '{"name":"A","mes":"first","mes":"last"}'))
        assert message.active.mes == "last"
        assert "appeared twice" in chat.report.warnings[0]

    def test_a_raw_tab_in_a_string_is_read(self) -> None:
        assert read(b'{"name":"A","mes":"a\tb"}')[1][0].active.mes == "a\tb"

    def test_a_name_that_is_too_long_is_cut_and_goes_out_whole(self) -> None:
        line = PLAIN | {"name": "N" * 300}
        message = read_one(line)
        assert message.name == "N" * 200
        assert same(render_message(message), line)

    def test_a_message_with_absurdly_many_swipes_is_skipped(self) -> None:
        chat, messages = read(text(HEADER, PLAIN | {"swipes": [""] * 10_001}, PLAIN))
        assert "swipes" in reasons(chat)[2]
        assert len(messages) == 1


class TestLayout:
    def edited(self, message: ParsedMessage, *fields: str, **values: Any) -> dict[str, Any]:
        changed = replace(message, layout=forget_layout(message.layout, fields), **values)
        return json.loads(render_message(changed))

    def test_untouched_lines_store_only_markers(self) -> None:
        assert json.loads(read_one(PLAIN).layout) == dict.fromkeys(PLAIN)

    def test_an_edit_refreshes_the_copy_in_swipes(self) -> None:
        message = read_one(SWIPED | {"swipes": ["It is open.", "A stale text."]})
        swipes = (message.swipes[0], replace(message.swipes[1], mes="Barred."))
        line = self.edited(message, "mes", swipes=swipes)
        assert line["mes"] == "Barred."
        assert line["swipes"] == ["It is open.", "Barred."]
        assert list(line) == list(SWIPED)
        assert line["force_avatar"] == SWIPED["force_avatar"]

    def test_an_edit_adds_no_swipes_where_there_were_none(self) -> None:
        line = self.edited(read_one(PLAIN), "mes", swipes=(ParsedSwipe("Which gate?"),))
        assert line == PLAIN | {"mes": "Which gate?"}

    def test_a_swipe_added_brings_the_keys_of_swipes(self) -> None:
        swipes = (ParsedSwipe("The gate?"), ParsedSwipe("Which gate?", {"model": "m"}))
        line = self.edited(read_one(PLAIN), "swipes", swipes=swipes, swipe_id=1)
        assert line == PLAIN | {
            "mes": "Which gate?",
            "extra": {"model": "m"},
            "swipe_id": 1,
            "swipes": ["The gate?", "Which gate?"],
            "swipe_info": [{"extra": {}}, {"extra": {"model": "m"}}],
        }

    def test_a_repaired_value_goes_out_raw_until_it_is_written(self) -> None:
        message = read_one(PLAIN | {"is_system": "true"})
        assert json.loads(render_message(message))["is_system"] == "true"
        assert self.edited(message, "is_system", is_system=False)["is_system"] is False

    def test_a_field_that_the_line_lacked_is_added(self) -> None:
        assert self.edited(read_one({"mes": "Hail."}), "is_system", is_system=True) == {
            "mes": "Hail.",
            "is_system": True,
        }

    def test_a_message_written_here_has_the_usual_keys(self) -> None:
        message = replace(read_one(PLAIN), layout="")
        assert json.loads(render_message(message)) == PLAIN | {"extra": {}}
        line = json.loads(render_message(replace(read_one(SWIPED), layout="")))
        assert line.keys() == SWIPED.keys() - {"force_avatar"}

    def test_a_header_that_was_changed(self) -> None:
        chat, _ = read(text(HEADER | {"user_name": "unused"}, PLAIN))
        layout = forget_layout(chat.header.layout, ["user_name", "chat_metadata"])
        line = render_header(user_name="Wanda", character_name="x", create_date="", metadata={"a": 1}, layout=layout)
        assert json.loads(line or "") == HEADER | {"chat_metadata": {"a": 1}}


# Hypothesis: whatever JSON a line holds, it goes out as it came in.

storable = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)
numbers = st.integers() | st.floats(allow_nan=False, allow_infinity=False)
json_values = st.recursive(
    st.none() | st.booleans() | numbers | storable,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(storable, inner, max_size=4),
    max_leaves=12,
)
objects = st.dictionaries(storable, json_values, max_size=4)
texts = storable | st.fixed_dictionaries({"message": storable})
infos = st.fixed_dictionaries({}, optional={"send_date": json_values, "extra": objects})
known_keys = {
    "name": storable,
    "is_user": st.booleans(),
    "is_system": st.booleans(),
    "send_date": storable | st.integers(0, 2**42),
    "extra": objects,
    "swipes": st.lists(texts, max_size=4),
    "swipe_id": st.integers(-1, 4),
    "swipe_info": st.lists(st.none() | infos, max_size=5),
}
odd_keys = dict.fromkeys(known_keys, json_values)


@st.composite
def message_lines(draw: st.DrawFn) -> dict[str, Any]:
    keys = draw(st.sampled_from([known_keys, odd_keys]))
    line = draw(st.fixed_dictionaries({"mes": texts | json_values}, optional=keys)) | draw(objects)
    return {key: line[key] for key in draw(st.permutations(list(line)))}


@given(st.lists(message_lines(), max_size=5))
def test_messages_round_trip(lines: list[dict[str, Any]]) -> None:
    chat, messages = read(text(HEADER, *lines))
    assert chat.report.skipped_lines == []
    rendered = [render_message(message) for message in messages]
    assert all(same(line, original) for line, original in zip(rendered, lines, strict=True))
    assert all(message.swipes and message.active for message in messages)
    again, _ = read(text(HEADER, *rendered))
    assert again.report.skipped_lines == []


@given(st.fixed_dictionaries({}, optional=dict.fromkeys(HEADER, json_values)), objects)
def test_headers_round_trip(known: dict[str, Any], unknown: dict[str, Any]) -> None:
    header = {"chat_metadata": {}} | known | unknown
    chat, _ = read(text(header, PLAIN))
    assert same(header_line(chat) or "", header)


@given(st.binary(max_size=400) | st.lists(json_values).map(lambda values: text(*map(json.dumps, values))))
def test_no_bytes_break_the_parser(content: bytes) -> None:
    try:
        chat, messages = read(content)
    except UnreadableFile:
        return
    assert chat.report.messages == len(messages)
