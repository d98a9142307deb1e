"""Claude's export: an array of conversations, each a list of messages that may branch."""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.formats.documents import conversations
from apps.chats.formats.foreign import (
    KEPT_OF_CHAT,
    KEPT_OF_MESSAGE,
    USER,
    header,
    kept,
    message,
    numbered,
    objects,
    title_of,
    with_text,
    without,
)
from apps.chats.formats.json_lines import Warn
from apps.chats.formats.parsed import ParsedChat, ParsedMessage, Report
from apps.chats.formats.trees import Node, Tree

FORMAT = "claude"
NAME = "Claude"

_KNOWN = ("text", "content", "sender", "created_at")
_OTHER_BRANCH = "A message was left out: it belongs to a branch that was not the current one."


def chats(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    """The conversations of an export."""
    return conversations(file, (), report, _chat)


def _chat(conversation: dict[str, Any], report: Report) -> ParsedChat:
    beside = kept(without(conversation, "chat_messages", "name"), KEPT_OF_CHAT, partial(report.warn, 1))
    head = header("", NAME, parse_date(conversation.get("created_at")), claude=beside)
    return ParsedChat(head, _messages(conversation, report), report, title_of(conversation.get("name")))


def _messages(conversation: Mapping[str, Any], report: Report) -> Iterator[ParsedMessage]:
    nodes: dict[str, Node] = {}
    named: dict[str, str] = {}
    for number, line in with_text(numbered(conversation.get("chat_messages")), "sender", report):
        uuid, parent = line.get("uuid"), line.get("parent_message_uuid")
        key = uuid if isinstance(uuid, str) and uuid not in nodes else f"#{number}"
        nodes[key] = _node(line, partial(report.warn, number))
        if isinstance(parent, str):
            named[key] = parent
    if not nodes:
        return
    leaf = conversation.get("current_leaf_message_uuid")
    tree = Tree(nodes, _parents(list(nodes), named))
    for turn in tree.turns(leaf if isinstance(leaf, str) and leaf in nodes else list(nodes)[-1]):
        yield message(USER if turn.is_user else NAME, turn.is_user, turn.versions, turn.active)
    for _ in range(tree.left_out()):
        report.warn(report.messages, _OTHER_BRANCH)


def _parents(keys: list[str], named: Mapping[str, str]) -> dict[str, str]:
    """Each message's parent: that before it, or where the conversation branches, the one it names."""
    before = dict(zip(keys[1:], keys, strict=False))
    branches = len(set(named.values())) < len(named)
    return {key: named.get(key, before.get(key, "")) for key in keys} if branches else before


def _node(line: Mapping[str, Any], warn: Warn) -> Node:
    sender = line.get("sender")
    is_user = sender in ("human", "user")
    if not is_user and sender != "assistant":
        warn("The sender was neither human nor assistant: it was taken for the assistant.")
    blocks = objects(line.get("content"))
    text = _text(line, blocks)
    beside = kept(without(line, *_KNOWN), KEPT_OF_MESSAGE, warn)
    if not (text or line.get("attachments") or line.get("files")):
        warn("A message was left out: it has no text.")
        return Node(is_user)
    if any(block.get("type") in ("tool_use", "tool_result") for block in blocks):
        warn("The calls of tools in a message were left out.")
    reasoning = _joined(blocks, "thinking")
    extra = {"claude": beside} if beside else {}
    return Node(is_user, text, reasoning, extra, parse_date(line.get("created_at")))


def _text(line: Mapping[str, Any], blocks: list[dict[str, Any]]) -> str:
    """The text blocks of the content, which are complete; older exports have the text alone."""
    text = line.get("text")
    return _joined(blocks, "text") or (text if isinstance(text, str) else "")


def _joined(blocks: list[dict[str, Any]], kind: str) -> str:
    texts = [block.get(kind) for block in blocks if block.get("type") == kind]
    return "\n\n".join(text for text in texts if isinstance(text, str) and text)
