"""ChatGPT's export: an array of conversations, each a tree of messages."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from apps.chats.formats.documents import conversations
from apps.chats.formats.foreign import (
    KEPT_OF_CHAT,
    KEPT_OF_MESSAGE,
    USER,
    from_seconds,
    header,
    kept,
    mapping,
    message,
    title_of,
    without,
)
from apps.chats.formats.json_lines import Warn
from apps.chats.formats.parsed import ParsedChat, ParsedMessage, Report
from apps.chats.formats.trees import Node, Tree

FORMAT = "chatgpt"
NAME = "ChatGPT"

_NO_TEXT = "An image or a file stands in the message's data only: an export doesn't hold it in its texts."
_OTHER_BRANCH = "A message was left out: it belongs to a branch that was not the current one."


def chats(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    """The conversations of an export."""
    return conversations(file, (), report, _chat)


def _chat(conversation: dict[str, Any], report: Report) -> ParsedChat:
    created_at = from_seconds(conversation.get("create_time"))
    beside = kept(without(conversation, "mapping", "title"), KEPT_OF_CHAT, partial(report.warn, 1))
    head = header("", NAME, created_at, chatgpt=beside)
    return ParsedChat(head, _messages(conversation, report), report, title_of(conversation.get("title")))


def _messages(conversation: Mapping[str, Any], report: Report) -> Iterator[ParsedMessage]:
    points = {key: mapping(point) for key, point in mapping(conversation.get("mapping")).items()}
    if not points:
        return
    nodes = {
        key: _node(mapping(point.get("message")), partial(report.warn, number))
        for number, (key, point) in enumerate(points.items(), 1)
    }
    tree = Tree({key: nodes[key] for key in _in_order(points)}, _parents(points))
    for turn in tree.turns(conversation.get("current_node")):
        yield message(USER if turn.is_user else NAME, turn.is_user, turn.versions, turn.active)
    for _ in range(tree.left_out()):
        report.warn(report.messages, _OTHER_BRANCH)


def _parents(points: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Each node's parent: the one it names, else the one that names it among its children."""
    named = {child: key for key, point in points.items() for child in _children(point)}
    own = {key: point["parent"] for key, point in points.items() if isinstance(point.get("parent"), str)}
    return named | own


def _in_order(points: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """All nodes; those of one parent in the order in which it names them."""
    named = dict.fromkeys(child for point in points.values() for child in _children(point) if child in points)
    return [*(key for key in points if key not in named), *named]


def _children(point: Mapping[str, Any]) -> list[str]:
    children = point.get("children")
    return [child for child in children if isinstance(child, str)] if isinstance(children, list) else []


def _node(written: Mapping[str, Any], warn: Warn) -> Node:
    role = mapping(written.get("author")).get("role")
    content = mapping(written.get("content"))
    if content.get("content_type") == "thoughts":
        return Node(is_user=False, reasoning=_thoughts(content))
    shown = _is_shown(written, role, content)
    text, others = _text(content)
    if not shown or not (text or others):
        if written and (text or others):
            warn(f"A message was left out: it is one of the {_kind(role)}, which ChatGPT doesn't show.")
        return Node(is_user=role == "user")
    if others:
        warn(_NO_TEXT)
    return Node(role == "user", text, "", _extra(written, others, warn), from_seconds(written.get("create_time")))


def _is_shown(written: Mapping[str, Any], role: Any, content: Mapping[str, Any]) -> bool:
    if mapping(written.get("metadata")).get("is_visually_hidden_from_conversation"):
        return False
    spoken = content.get("content_type", "text") in ("text", "multimodal_text", "code")
    return role in ("user", "assistant") and spoken and written.get("recipient", "all") in ("all", None)


def _kind(role: Any) -> str:
    return {"system": "system", "tool": "tools", "assistant": "calls of tools"}.get(role, "program")


def _text(content: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """The text of a message, and its parts that are none: references to images and files."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        text = content.get("text")
        return (text if isinstance(text, str) else ""), []
    texts = [part if isinstance(part, str) else mapping(part).get("text") for part in parts]
    others = [part for part in parts if isinstance(part, dict) and not isinstance(part.get("text"), str)]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text), others


def _thoughts(content: Mapping[str, Any]) -> str:
    thoughts = content.get("thoughts")
    texts = [mapping(thought).get("content") for thought in thoughts] if isinstance(thoughts, list) else []
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)


def _extra(written: Mapping[str, Any], others: list[dict[str, Any]], warn: Warn) -> dict[str, Any]:
    model = mapping(written.get("metadata")).get("model_slug")
    beside = kept({**without(written, "content"), "parts": others}, KEPT_OF_MESSAGE, warn)
    return ({"model": model} if isinstance(model, str) else {}) | ({"chatgpt": beside} if beside else {})
