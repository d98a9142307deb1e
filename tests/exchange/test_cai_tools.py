"""CAI Tools' dumps."""

from typing import Any

from tests.exchange.chat_files import chats_in, opened, reason_for, said


def line(text: Any, is_human: bool, **more: Any) -> dict[str, Any]:
    return {"src": {"is_human": is_human, "name": "Wanda" if is_human else "Anselm"}, "text": text, **more}


DUMP = {
    "info": {"character": {"name": "Brother Anselm"}},
    "histories": {
        "histories": [
            {"external_id": "h1", "msgs": [line("Welcome.", False, id=1), line("Thanks.", True)]},
            {"msgs": [line("Again?", False)], "created": "2023-03-01T10:00:00Z"},
        ]
    },
}


def test_each_history_is_a_chat() -> None:
    (first, first_messages), (second, second_messages) = chats_in(DUMP)
    assert said(first_messages) == [("Anselm", False, "Welcome."), ("Wanda", True, "Thanks.")]
    assert said(second_messages) == [("Anselm", False, "Again?")]
    assert first.header.metadata == {"cai": {"external_id": "h1"}}
    assert first_messages[0].active.extra == {"cai": {"id": 1}}
    assert second.header.created_at is not None
    assert first.header.character_name == "Brother Anselm"
    assert first.report.as_dict() == {"format": "cai-tools", "messages": 2, "skipped_lines": [], "warnings": []}


def test_speakers_without_a_name() -> None:
    msgs = [{"src": {"is_human": True}, "text": "Hi."}, {"src": None, "text": "Ho."}]
    [(_, messages)] = chats_in({**DUMP, "histories": {"histories": [{"msgs": msgs}]}})
    assert said(messages) == [("You", True, "Hi."), ("Brother Anselm", False, "Ho.")]


def test_a_broken_history_costs_only_itself() -> None:
    histories = [7, {"msgs": []}, {"msgs": [None, line("One.", True)]}, {}]
    file = opened({"histories": {"histories": histories}})
    [(chat, messages)] = [(chat, list(chat.messages)) for chat in file]
    assert [message.active.mes for message in messages] == ["One."]
    assert [skip["line"] for skip in chat.report.skipped_lines] == [1]
    assert [skip["line"] for skip in file.report.skipped_lines] == [1, 2, 4]


def test_without_a_history() -> None:
    for histories in (None, [], {}, {"histories": {}}, {"histories": []}):
        assert reason_for({"histories": histories}).startswith("There is no chat in the file.")
