"""Parse Agnai's chat export: an object with the chat's fields and an array `messages`.

In a chat with `treeLeafId` each message names its `parent`; the path to that leaf is the chat.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.repairs import Warn, as_text
from apps.exchange.formats import conversion as convert
from apps.exchange.formats.documents import read_array, read_other_fields, require_messages
from apps.exchange.formats.parsed import ImportReport, ParsedBranch, ParsedChat
from apps.exchange.formats.trees import Node, Tree

FORMAT = "agnai"

_KNOWN_FIELDS = ("msg", "handle", "retries", "createdAt")


def parse_chats(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    """Yield the one chat of an export."""
    chat_report = ImportReport(FORMAT, unit="message")
    fields = read_other_fields(file, ("messages",), chat_report)
    header = convert.build_header("", "", agnai=convert.other_chat_fields(fields, ("name",), chat_report))
    lines = convert.objects_with_key(read_array(file, ("messages",), chat_report), "msg", chat_report)
    title = convert.title_of(fields.get("name"))
    leaf = fields.get("treeLeafId")
    branches: Sequence[ParsedBranch] = ()
    if isinstance(leaf, str) and leaf:
        path, branches = _tree(lines, leaf, chat_report)
        messages = iter(path)
    else:
        messages = (_message(line, partial(chat_report.warn, number)) for number, line in lines)
    yield require_messages(ParsedChat(header, messages, chat_report, title, branches))


def _tree(
    lines: Iterable[tuple[int, Mapping[str, Any]]], leaf: str, report: ImportReport
) -> tuple[list[ParsedMessage], list[ParsedBranch]]:
    nodes: dict[str, Node] = {}
    parents: dict[str, str] = {}
    for number, line in lines:
        own, parent = line.get("_id"), line.get("parent")
        key = own if isinstance(own, str) and own not in nodes else f"#{number}"
        message = _message(line, partial(report.warn, number))
        first, *others = (convert.Version(swipe.mes, swipe.extra, message.sent_at) for swipe in message.swipes)
        nodes[key] = Node(message.is_user, first.text, "", first.extra, first.sent_at, message.name, tuple(others))
        if isinstance(parent, str):
            parents[key] = parent
    # Somebody who goes back to an earlier message, to go on from there, has that as the leaf.
    return Tree(nodes, parents, by_name=True).parse(leaf, "", report, ends_there=True) if nodes else ([], [])


def _message(line: Mapping[str, Any], warn: Warn) -> ParsedMessage:
    # Only the messages of people have a `userId`; those of characters have a `characterId`.
    is_user = bool(line.get("userId"))
    extra = convert.other_message_fields("agnai", line, _KNOWN_FIELDS, warn)
    first = convert.Version(as_text(line.get("msg"), warn), extra, parse_date(line.get("createdAt")))
    # `handle` is the speaker's name as displayed.
    name = convert.name_or(line.get("handle"), convert.USER if is_user else "", warn)
    # `retries` holds the discarded versions of the text; `msg` is the one that was kept.
    texts = [text for _, text in convert.numbered_items(line.get("retries")) if isinstance(text, str)]
    return convert.build_message(name, is_user, [first, *map(convert.Version, texts)])
