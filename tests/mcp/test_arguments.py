"""Arguments as clients of MCP really send them."""

import json
from typing import Any

import pytest

from apps.mcp.calls import Refused
from apps.mcp.tools import TOOLS
from apps.mcp.tools.arguments import check

MESSAGES = [{"role": "user", "text": "[1, 2] are two numbers."}]


@pytest.mark.parametrize(
    ("name", "sent", "meant"),
    [
        ("chat_append", {"messages": json.dumps(MESSAGES)}, {"messages": MESSAGES}),
        ("chat_append", {"messages": [json.dumps(MESSAGES[0])]}, {"messages": MESSAGES}),
        ("memory_search", {"query": "5", "tiers": '["long_term"]', "limit": "5"},
         {"query": "5", "tiers": ["long_term"], "limit": 5}),
        ("memory_update", {"id": "0" * 32, "pinned": "True"}, {"id": "0" * 32, "pinned": True}),
        ("sync_push", {"instance": "desk", "clock": '{"desk": 1}'}, {"instance": "desk", "clock": {"desk": 1}}),
        ("memory_add", {"text": '["a"]', "wait_for_previous": True, "toolCallId": "call_1"}, {"text": '["a"]'}),
    ],
)  # fmt: skip
def test_texts_in_json_are_read_where_the_tool_wants_no_text(name: str, sent: Any, meant: Any) -> None:
    """Claude Code sends lists and numbers as texts, and other clients add arguments of their own."""
    assert check(TOOLS[name].schema, sent) == meant


@pytest.mark.parametrize(
    ("name", "sent", "reason"),
    [
        ("chat_append", {"messages": "Hello."}, "messages: it must be a list."),
        ("chat_append", {"messages": '{"role": "user"}'}, "messages: it must be a list."),
        ("chat_append", {"messages": "[" * 5000}, "messages: it must be a list."),
        ("memory_search", {"query": "a", "limit": "five"}, "limit: it must be a whole number."),
        ("memory_search", {"query": "a", "limit": "true"}, "limit: it must be a whole number."),
        ("memory_search", {"query": "a", "limit": "5000"}, "limit: it must be at most"),
        ("memory_update", {"id": "0" * 32, "pinned": "1"}, "pinned: it must be true or false."),
        ("memory_add", {"text": "a", "wait": True}, "wait: there is no such argument"),
        ("chat_append", {"messages": [MESSAGES[0] | {"mes": "a"}]}, "^messages/0/mes: there is no such argument"),
    ],
)
def test_others_are_refused_by_name(name: str, sent: Any, reason: str) -> None:
    with pytest.raises(Refused, match=reason):
        check(TOOLS[name].schema, sent)
