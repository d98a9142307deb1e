"""Parse LibreChat's exports: a conversation with its messages as a list that may branch, or nested in each other.

The list is under `messages`, or under `messagesTree` in exports with nested messages.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.repairs import Warn
from apps.common.stored_texts import gettext_stored
from apps.exchange.formats import conversion as convert
from apps.exchange.formats.documents import parse_conversations
from apps.exchange.formats.parsed import ImportReport, ParsedChat
from apps.exchange.formats.trees import Node, Tree

FORMAT = "librechat"
KEYS = ("messages", "messagesTree")
NAME = "Assistant"
# The name that LibreChat gives to every user.
_UNNAMED_USER = "User"

_KNOWN_FIELDS = (
    "messageId",
    "parentMessageId",
    "children",
    "sender",
    "isCreatedByUser",
    "text",
    "content",
    "createdAt",
)


def parse_chats(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    """Yield the conversations of an export."""
    return parse_conversations(file, (), report, _chat)


def _chat(conversation: dict[str, Any], report: ImportReport) -> ParsedChat:
    nodes: dict[str, Node] = {}
    parents: dict[str, str] = {}
    for number, (line, parent) in enumerate(_lines(conversation), 1):
        if not isinstance(line, dict):
            report.skip(number, gettext_stored("Not a JSON object."))
            continue
        own = line.get("messageId")
        key = own if isinstance(own, str) and own not in nodes else f"#{number}"
        nodes[key] = _node(line, partial(report.warn, number))
        named = line.get("parentMessageId")
        parents[key] = named if isinstance(named, str) else parent
    # The newest message stands last.
    messages, branches = Tree(nodes, parents).parse(list(nodes)[-1], NAME, report) if nodes else ((), ())
    dates = [message.sent_at for message in messages if message.sent_at]
    other_fields = convert.other_chat_fields(conversation, (*KEYS, "title"), report)
    header = convert.build_header("", "", dates[0] if dates else None, librechat=other_fields)
    return ParsedChat(header, iter(messages), report, convert.title_of(conversation.get("title")), branches)


def _lines(conversation: Mapping[str, Any]) -> Iterator[tuple[Any, str]]:
    """Yield the messages of a conversation and those nested in them, each with the id of the one it is nested in."""
    messages = next((value for key in KEYS if isinstance(value := conversation.get(key), list)), [])
    waiting = [(line, "") for line in reversed(messages)]
    while waiting:
        line, parent = waiting.pop()
        yield line, parent
        children = line.get("children") if isinstance(line, dict) else None
        if isinstance(children, list):
            waiting += [(child, str(line.get("messageId", ""))) for child in reversed(children)]


def _node(line: Mapping[str, Any], warn: Warn) -> Node:
    is_user = line.get("isCreatedByUser") is True
    blocks = convert.objects_in(line.get("content"))
    written = convert.join_texts(_text_of(block, "text") for block in blocks) or convert.join_texts([line.get("text")])
    files = convert.objects_in(line.get("files"))
    attached = [convert.attached_text(file.get("filename"), file.get("text")) for file in files]
    text = convert.join_texts([written, *attached])
    if any(block.get("type") not in ("text", "think") for block in blocks):
        warn("Tool calls in a message were left out.")
    extra = {"model": line["model"]} if isinstance(line.get("model"), str) and line["model"] else {}
    named = [convert.without(file, "text") for file in files]
    extra |= convert.other_message_fields("librechat", {**line, "files": named}, (*_KNOWN_FIELDS, "model"), warn)
    if not (text or files):
        warn("A message was left out: it has no text.")
        return Node(is_user)
    sender = convert.name_or(line.get("sender"), "", warn)
    name = "" if is_user and sender == _UNNAMED_USER else sender
    thoughts = convert.join_texts(_text_of(block, "think") for block in blocks)
    return Node(is_user, text, thoughts, extra, parse_date(line.get("createdAt")), name)


def _text_of(block: Mapping[str, Any], kind: str) -> str:
    """Return the text of a content block of a type, which may be wrapped in an object."""
    value = block.get(kind) if block.get("type") == kind else None
    value = value.get("value") if isinstance(value, dict) else value
    return value if isinstance(value, str) else ""
