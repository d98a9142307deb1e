"""Parse Claude's export: an array of conversations, each with an array of messages that may branch."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.repairs import Warn
from apps.exchange.formats import conversion as convert
from apps.exchange.formats.documents import parse_conversations
from apps.exchange.formats.parsed import ImportReport, ParsedBranch, ParsedChat
from apps.exchange.formats.trees import Node, Tree

FORMAT = "claude"
NAME = "Claude"

_KNOWN_FIELDS = ("text", "content", "sender", "created_at")


def parse_chats(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    """Yield the conversations of an export."""
    return parse_conversations(file, (), report, _chat)


def _chat(conversation: dict[str, Any], report: ImportReport) -> ParsedChat:
    other_fields = convert.other_chat_fields(conversation, ("chat_messages", "name"), report)
    header = convert.build_header("", NAME, parse_date(conversation.get("created_at")), claude=other_fields)
    messages, branches = _messages(conversation, report)
    return ParsedChat(header, iter(messages), report, convert.title_of(conversation.get("name")), branches)


def _messages(
    conversation: Mapping[str, Any], report: ImportReport
) -> tuple[Sequence[ParsedMessage], Sequence[ParsedBranch]]:
    nodes: dict[str, Node] = {}
    named_parents: dict[str, str] = {}
    values = convert.numbered_items(conversation.get("chat_messages"))
    for number, line in convert.objects_with_key(values, "sender", report):
        uuid, parent = line.get("uuid"), line.get("parent_message_uuid")
        key = uuid if isinstance(uuid, str) and uuid not in nodes else f"#{number}"
        nodes[key] = _node(line, partial(report.warn, number))
        if isinstance(parent, str):
            named_parents[key] = parent
    if not nodes:
        return (), ()
    leaf = conversation.get("current_leaf_message_uuid")
    tree = Tree(nodes, _parents(list(nodes), named_parents))
    return tree.parse(leaf if isinstance(leaf, str) and leaf in nodes else list(nodes)[-1], NAME, report)


def _parents(keys: list[str], named: Mapping[str, str]) -> dict[str, str]:
    """Return each message's parent: the previous message, or in a conversation that branches, the one it names.

    A conversation branches if two messages name the same parent. In all others the order counts, since parents may be
    missing.
    """
    previous = dict(zip(keys[1:], keys, strict=False))
    has_branches = len(set(named.values())) < len(named)
    return {key: named.get(key, previous.get(key, "")) for key in keys} if has_branches else previous


def _node(line: Mapping[str, Any], warn: Warn) -> Node:
    sender = line.get("sender")
    is_user = sender in ("human", "user")
    if not is_user and sender != "assistant":
        warn("The sender was neither human nor assistant: it was treated as the assistant.")
    blocks = convert.objects_in(line.get("content"))
    # Older exports have no content blocks, only `text`; where there are both, `text` may be incomplete.
    written = convert.join_texts(map(_block_text, blocks)) or convert.join_texts([line.get("text")])
    attachments = convert.objects_in(line.get("attachments"))
    text = convert.join_texts([written, *map(_attached_text, attachments)])
    named = [convert.without(item, "extracted_content") for item in attachments]
    extra = convert.other_message_fields("claude", {**line, "attachments": named}, _KNOWN_FIELDS, warn)
    if any(block.get("type") in ("tool_use", "tool_result") and not _block_text(block) for block in blocks):
        warn("Tool calls in a message were left out.")
    if not (text or attachments or line.get("files")):
        warn("A message was left out: it has no text.")
        return Node(is_user)
    thinking = convert.join_texts(block.get("thinking") for block in blocks if block.get("type") == "thinking")
    return Node(is_user, text, thinking, extra, parse_date(line.get("created_at")))


def _block_text(block: Mapping[str, Any]) -> str:
    """Return what a content block shows: its text, or the document that it writes with the tool for artifacts."""
    is_artifact = block.get("type") == "tool_use" and block.get("name") == "artifacts"
    value = convert.as_object(block.get("input")).get("content") if is_artifact else block.get("text")
    return value if isinstance(value, str) and (is_artifact or block.get("type") == "text") else ""


def _attached_text(attachment: Mapping[str, Any]) -> str:
    return convert.attached_text(attachment.get("file_name"), attachment.get("extracted_content"))
