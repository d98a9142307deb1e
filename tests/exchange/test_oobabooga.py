"""oobabooga's histories."""

import html
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.exchange.chat_files import only_chat, reason_for, said

texts = st.text(st.characters(exclude_categories=["Cs", "Cc"]))


@pytest.mark.parametrize("keys", [("data", "data_visible"), ("internal", "visible")])
def test_what_was_shown_is_read(keys: tuple[str, str]) -> None:
    sent, shown = keys
    history = {
        sent: [["<|BEGIN-VISIBLE-CHAT|>", "Hm."], ["Hi.", "Ho."]],
        shown: [["", "Who&#x27;s there?"], ["Me &amp; mine.", "Enter."]],
        "metadata": {"user_1": {"timestamp": "Jan 05, 2025 13:45"}},
    }
    chat, messages = only_chat(history)
    assert said(messages) == [
        ("", False, "Who's there?"),
        ("You", True, "Me & mine."),
        ("", False, "Enter."),
    ]
    assert chat.report.format == "oobabooga"
    assert [message.send_date for message in messages] == ["", "2025-01-05T13:45:00Z", ""]


@pytest.mark.parametrize("pair", [7, "text", {}, [], ["alone"]])
def test_what_is_no_pair_is_left_out_by_its_number(pair: Any) -> None:
    chat, messages = only_chat({"data_visible": [["a", "b"], pair, [None, "c"], [3, "d"]]})
    assert [message.active.mes for message in messages] == ["a", "b", "c", "d"]
    assert chat.report.skipped_lines == [{"line": 2, "reason": "Pair 2: It is not a pair of texts."}]
    assert chat.report.warnings == ["A text was not a string: it was left out. (pair 4)"]


def test_without_a_text() -> None:
    for shown in ([], [["", ""]], {}, "text", None):
        assert reason_for({"data_visible": shown}) == "There is no message in it."


@given(st.lists(st.tuples(texts, texts), min_size=1).filter(lambda pairs: any(a or b for a, b in pairs)))
def test_every_text_is_kept_in_its_order(pairs: list[tuple[str, str]]) -> None:
    _, messages = only_chat({"internal": [], "visible": [[html.escape(a), html.escape(b)] for a, b in pairs]})
    expected = [(side == 0, text) for pair in pairs for side, text in enumerate(pair) if text]
    assert [(message.is_user, message.active.mes) for message in messages] == expected
