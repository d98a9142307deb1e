"""Parse lists of messages with roles, as OpenAI's API and data sets have them.

A conversation is an object with `messages`, whose items have `role` and `content`, or with `conversations`, whose items
have `from` and `value` (ShareGPT). A document may also be the list of messages alone, or JSON lines of either. Messages
that name their parents, as in llama.cpp's exports, are a tree.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.repairs import Warn
from apps.common.stored_texts import gettext_stored
from apps.exchange.formats import conversion as convert
from apps.exchange.formats.documents import parse_conversations, read_array, require_messages
from apps.exchange.formats.parsed import ImportReport, ParsedBranch, ParsedChat
from apps.exchange.formats.trees import Node, Tree

FORMAT = "openai"
NAME, SYSTEM = "Assistant", "System"

_USER_ROLES = ("user", "human")
_SYSTEM_ROLES = ("system", "developer")
_TOOL_ROLES = ("tool", "function")
_PARENT_KEYS = ("parent", "parentId", "parent_id")
_KNOWN_FIELDS = (
    "role",
    "content",
    "name",
    "from",
    "value",
    "reasoning_content",
    "reasoning",
    "created_at",
    "timestamp",
)


def parse_chats(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    """Yield the chats of a document of conversations."""
    return parse_conversations(file, (), report, _chat)


def parse_messages(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    """Yield the one chat of a document that is a list of messages."""
    chat_report = ImportReport(FORMAT, unit="message")
    values = read_array(file, (), chat_report)
    yield require_messages(ParsedChat(convert.build_header("", ""), _messages(values, chat_report), chat_report))


def _chat(conversation: dict[str, Any], report: ImportReport) -> ParsedChat:
    key = "messages" if isinstance(conversation.get("messages"), list) else "conversations"
    about = convert.as_object(conversation.get("conv"))  # llama.cpp
    other_fields = convert.other_chat_fields(conversation, (key, "title"), report)
    created_at = parse_date(conversation.get("created_at")) or parse_date(conversation.get("created"))
    header = convert.build_header("", "", created_at, openai=other_fields)
    title = convert.title_of(conversation.get("title")) or convert.title_of(about.get("name"))
    if parents := _parents(convert.objects_in(conversation.get(key))):
        messages, branches = _tree(convert.objects_in(conversation.get(key)), parents, about.get("currNode"), report)
        return ParsedChat(header, iter(messages), report, title, branches)
    return ParsedChat(header, _messages(convert.numbered_items(conversation.get(key)), report), report, title)


def _parents(lines: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """Return the parents of messages by ids, or nothing unless all messages have an id and a field for the parent."""
    ids = {str(line["id"]) for line in lines if isinstance(line.get("id"), str | int)}
    key = next((key for key in _PARENT_KEYS if all(key in line for line in lines)), "")
    if not key or len(ids) < len(lines):
        return {}
    return {str(line["id"]): str(line[key]) for line in lines if str(line[key]) in ids}


def _tree(
    lines: Sequence[Mapping[str, Any]], parents: Mapping[str, str], leaf: Any, report: ImportReport
) -> tuple[list[ParsedMessage], list[ParsedBranch]]:
    nodes: dict[str, Node] = {}
    for number, line in enumerate(lines, 1):
        message = None if line.get("type") == "root" else _message(line, partial(report.warn, number))
        if message is None:
            nodes[str(line["id"])] = Node(line.get("role") in _USER_ROLES)
            continue
        said = message.active
        nodes[str(line["id"])] = Node(message.is_user, said.mes, "", said.extra, message.sent_at, message.name)
    messages, branches = Tree(nodes, parents, by_name=True).parse(leaf, NAME, report)
    marked = [replace(branch, messages=_marked(branch.messages)) for branch in branches]
    return _marked(messages), marked


def _marked(messages: Iterable[ParsedMessage]) -> list[ParsedMessage]:
    return [replace(message, is_system=message.name == SYSTEM) for message in messages]


def _messages(values: Iterable[tuple[int, Any]], report: ImportReport) -> Iterator[ParsedMessage]:
    for number, line in values:
        if not isinstance(line, dict):
            report.skip(number, gettext_stored("Not a JSON object."))
            continue
        message = _message(line, partial(report.warn, number))
        if message:
            yield message


def _message(line: Mapping[str, Any], warn: Warn) -> ParsedMessage | None:
    """Return the message of a line, or None, with a warning, for one that shows nothing."""
    role = line.get("role") or line.get("from")
    text, parts = convert.split_parts(line.get("content", line.get("value")))
    if role in _TOOL_ROLES:
        warn("Tool calls in a message were left out.")
        return None
    if line.get("tool_calls"):
        warn("Tool calls in a message were left out.")
    if parts:
        warn("An image or a file is kept only as a reference in the message's data: the text doesn't contain it.")
    if not (text or parts):
        warn("A message was left out: it has no text.")
        return None
    is_user, is_system = role in _USER_ROLES, role in _SYSTEM_ROLES
    extra = convert.other_message_fields("openai", {**line, "parts": parts}, _KNOWN_FIELDS, warn)
    reasoning = line.get("reasoning_content") or line.get("reasoning")
    if isinstance(reasoning, str) and reasoning:
        extra["reasoning"] = reasoning
    name = convert.name_or(line.get("name"), convert.USER if is_user else SYSTEM if is_system else NAME, warn)
    sent_at = parse_date(line.get("created_at")) or parse_date(line.get("timestamp"))
    return convert.build_message(name, is_user, [convert.Version(text, extra, sent_at)], is_system=is_system)
