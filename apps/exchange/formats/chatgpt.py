"""Parse ChatGPT's export: an array of conversations, each a tree of messages."""

import json
import re
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

FORMAT = "chatgpt"
NAME = "ChatGPT"

_NO_TEXT = "An image or a file is kept only as a reference in the message's data: the text doesn't contain it."
# Names of hidden messages in warnings, by role.
_HIDDEN_KINDS: dict[Any, str] = {"system": "a system message", "tool": "a tool result", "assistant": "a tool call"}
# Marks of private use characters: a kind and its fields, between a start and an end.
_MARK = re.compile("\ue200([^\ue200\ue201]*)\ue201")
_FIELD_SEPARATOR = "\ue202"
_MARK_CHARACTER = re.compile("[\ue200-\ue206]")
# Citations of earlier years: 【3†source】 or 【12:0†notes.txt】.
_OLD_CITATION = re.compile("【[^【】]*†[^【】]*】")


def parse_chats(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    """Yield the conversations of an export."""
    return parse_conversations(file, (), report, _chat)


def _chat(conversation: dict[str, Any], report: ImportReport) -> ParsedChat:
    created_at = parse_date(conversation.get("create_time"))
    other_fields = convert.other_chat_fields(conversation, ("mapping", "title"), report)
    header = convert.build_header("", NAME, created_at, chatgpt=other_fields)
    messages, branches = _messages(conversation, report)
    return ParsedChat(header, iter(messages), report, convert.title_of(conversation.get("title")), branches)


def _messages(
    conversation: Mapping[str, Any], report: ImportReport
) -> tuple[Sequence[ParsedMessage], Sequence[ParsedBranch]]:
    # `mapping` holds the tree: node ids with `message`, `parent` and `children`. The root has no message.
    mapping = convert.as_object(conversation.get("mapping"))
    entries = {key: convert.as_object(entry) for key, entry in mapping.items()}
    if not entries:
        return (), ()
    nodes = {
        key: _node(convert.as_object(entry.get("message")), partial(report.warn, number))
        for number, (key, entry) in enumerate(entries.items(), 1)
    }
    tree = Tree({key: nodes[key] for key in _in_order(entries)}, _parents(entries))
    return tree.parse(conversation.get("current_node"), NAME, report)


def _parents(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return each node's parent: the one it names, else the one that lists it among its children."""
    listed = {child: key for key, entry in entries.items() for child in _children(entry)}
    named = {key: entry["parent"] for key, entry in entries.items() if isinstance(entry.get("parent"), str)}
    return listed | named


def _in_order(entries: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return all node ids, siblings in the order in which their parent lists them."""
    listed = dict.fromkeys(child for entry in entries.values() for child in _children(entry) if child in entries)
    return [*(key for key in entries if key not in listed), *listed]


def _children(entry: Mapping[str, Any]) -> list[str]:
    return [child for _, child in convert.numbered_items(entry.get("children")) if isinstance(child, str)]


def _node(raw_message: Mapping[str, Any], warn: Warn) -> Node:
    role = convert.as_object(raw_message.get("author")).get("role")
    content = convert.as_object(raw_message.get("content"))
    if content.get("content_type") == "thoughts":
        thoughts = convert.objects_in(content.get("thoughts"))
        return Node(is_user=False, reasoning=convert.join_texts(thought.get("content") for thought in thoughts))
    shown = _is_shown(raw_message, role, content)
    text, others = _split_parts(content)
    text = _without_marks(text, convert.as_object(raw_message.get("metadata")))
    if not shown or not (text or others):
        if raw_message and (text or others):
            kind = _HIDDEN_KINDS.get(role, "an internal message")
            warn(f"A message was left out: it is {kind}, which ChatGPT doesn't show.")
        return Node(is_user=role == "user")
    if others:
        warn(_NO_TEXT)
    extra = _extra(raw_message, others, warn)
    return Node(role == "user", text, "", extra, parse_date(raw_message.get("create_time")))


def _is_shown(raw_message: Mapping[str, Any], role: Any, content: Mapping[str, Any]) -> bool:
    """Return whether ChatGPT displays the message."""
    if convert.as_object(raw_message.get("metadata")).get("is_visually_hidden_from_conversation"):
        return False
    is_text = content.get("content_type", "text") in ("text", "multimodal_text", "code")
    # A recipient other than "all" is a tool: the message is a tool call.
    return role in ("user", "assistant") and is_text and raw_message.get("recipient", "all") in ("all", None)


def _split_parts(content: Mapping[str, Any]) -> tuple[str, list[dict[str, Any]]]:
    """Return the text of a message, and its parts without text: references to images and files."""
    parts = content.get("parts")
    if not isinstance(parts, list):
        # Code has its text in the content itself.
        return convert.join_texts([content.get("text")]), []
    texts = [part if isinstance(part, str) else convert.as_object(part).get("text") for part in parts]
    others = [part for part in parts if isinstance(part, dict) and not isinstance(part.get("text"), str)]
    return convert.join_texts(texts), others


def _extra(raw_message: Mapping[str, Any], others: list[dict[str, Any]], warn: Warn) -> dict[str, Any]:
    model = convert.as_object(raw_message.get("metadata")).get("model_slug")
    extra = {"model": model} if isinstance(model, str) else {}
    return extra | convert.other_message_fields("chatgpt", {**raw_message, "parts": others}, ("content",), warn)


def _without_marks(text: str, metadata: Mapping[str, Any]) -> str:
    """Replace citations and other marks by the link or title that the message's data have, else remove them."""
    references = convert.objects_in(metadata.get("content_references")) + convert.objects_in(metadata.get("citations"))
    known = {item["matched_text"]: item for item in references if isinstance(item.get("matched_text"), str)}

    def shown(match: re.Match[str]) -> str:
        if match[0] in known:
            return _reference_text(known[match[0]])
        return _title_in_mark(match[1]) if match.re is _MARK else ""

    text = _MARK.sub(shown, text)
    text = _OLD_CITATION.sub(lambda match: shown(match) if match[0] in known else match[0], text)
    return _MARK_CHARACTER.sub("", text)


def _reference_text(reference: Mapping[str, Any]) -> str:
    """Return the link or title of a reference, or an empty text."""
    if isinstance(alt := reference.get("alt"), str) and alt:
        return alt
    sources = [reference, convert.as_object(reference.get("metadata")), *convert.objects_in(reference.get("items"))]
    for source in sources:
        title, url = ((value if isinstance(value := source.get(key), str) else "") for key in ("title", "url"))
        if title or url:
            return f"([{title}]({url}))" if title and url else title or url
    return reference["name"] if isinstance(reference.get("name"), str) else ""


def _title_in_mark(mark: str) -> str:
    """Return the title in a mark of an entity, whose field is a list of kind, title and more; else an empty text."""
    kind, _, value = mark.partition(_FIELD_SEPARATOR)
    if kind != "entity":
        return ""
    try:
        fields = json.loads(value)
    except (ValueError, RecursionError):
        return ""
    return fields[1] if isinstance(fields, list) and len(fields) > 1 and isinstance(fields[1], str) else ""
