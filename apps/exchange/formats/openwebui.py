"""Parse Open WebUI's exports: chats with a `history`, a tree of messages by id, or an older list of messages."""

import html
import re
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

FORMAT = "open-webui"
NAME = "Assistant"

_KNOWN_FIELDS = (
    "id",
    "parentId",
    "childrenIds",
    "role",
    "content",
    "timestamp",
    "model",
    "models",
    "modelName",
    "files",
    "output",
)
# What a reply shows folded: its reasoning, calls of tools, code that was run.
_DETAILS = re.compile(r"<details\s+type=\"(\w+)\"[^<>]*>(.*?)</details>\s*", re.DOTALL)
_DETAILS_END = re.compile("</details>\\s*")
_SUMMARY = re.compile(r"\s*<summary>.*?</summary>\s*", re.DOTALL)


def parse_chats(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    """Yield the chats of an export. An item is a chat, or a row that has it under `chat`."""
    return parse_conversations(file, (), report, _chat)


def _chat(row: dict[str, Any], report: ImportReport) -> ParsedChat:
    chat = convert.as_object(row.get("chat")) or row
    history = convert.as_object(chat.get("history"))
    lines = convert.as_object(history.get("messages")) or _linked(chat.get("messages"))
    nodes: dict[str, Node] = {}
    parents = _listed_parents(lines)
    for number, (key, value) in enumerate(lines.items(), 1):
        if not isinstance(value, dict):
            report.skip(number, gettext_stored("Not a JSON object."))
            continue
        nodes[key] = _node(value, partial(report.warn, number))
        if isinstance(value.get("parentId"), str):
            parents[key] = value["parentId"]
    names = {node.name for node in nodes.values() if node.name}
    assistant = next(iter(names)) if len(names) == 1 else NAME
    tree = Tree(nodes, parents)
    messages, branches = tree.parse(history.get("currentId"), assistant, report) if nodes else ((), ())
    created_at = parse_date(row.get("created_at")) or parse_date(chat.get("timestamp"))
    fields = {**convert.without(row, "chat"), **chat}
    other_fields = convert.other_chat_fields(fields, ("history", "messages", "title"), report)
    header = convert.build_header("", assistant, created_at, openwebui=other_fields)
    title = convert.title_of(chat.get("title")) or convert.title_of(row.get("title"))
    return ParsedChat(header, iter(messages), report, title, branches)


def _listed_parents(lines: Mapping[str, Any]) -> dict[str, str]:
    """Return the parent of each message that one lists among its children: a damaged message names none itself."""
    return {
        child: key
        for key, value in lines.items()
        for _, child in convert.numbered_items(convert.as_object(value).get("childrenIds"))
        if isinstance(child, str)
    }


def _linked(messages: Any) -> dict[str, Any]:
    """Return the messages of a list by id, each with the one before it as its parent."""
    values = [value for value in messages if isinstance(value, dict)] if isinstance(messages, list) else []
    parents = [None, *map(str, range(len(values)))]
    return {str(at): {**value, "parentId": parents[at]} for at, value in enumerate(values)}


def _node(line: Mapping[str, Any], warn: Warn) -> Node:
    is_user = line.get("role") == "user"
    written, others = convert.split_parts(line.get("content"))
    if not written:
        # Newer replies have the steps of the model, of which the messages are shown.
        steps = (step for step in convert.objects_in(line.get("output")) if step.get("type") == "message")
        written = convert.join_texts(convert.split_parts(step.get("content"))[0] for step in steps)
    reasoning: list[str] = []

    def unfold(match: re.Match[str]) -> str:
        if match[1] == "reasoning":
            summary = _SUMMARY.match(match[2])
            quoted = html.unescape(match[2][summary.end() if summary else 0 :].strip())
            reasoning.append(re.sub(r"^> ?", "", quoted, flags=re.MULTILINE))
        else:
            warn("Tool calls in a message were left out.")
        return ""

    folded, shown = convert.split_after_last(_DETAILS_END, written)
    text = (_DETAILS.sub(unfold, folded) + shown).strip() if not is_user else written
    files = convert.objects_in(line.get("files"))
    text = convert.join_texts([text, *map(_file_text, files)])
    if others or any(not _file_text(file) for file in files):
        warn("An image or a file is kept only as a reference in the message's data: the text doesn't contain it.")
    if not (text or files or others):
        warn("A message was left out: it has no text.")
        return Node(is_user)
    named = [convert.without(file, "file") if _file_text(file) else file for file in files]
    rest = {**convert.without(line, *_KNOWN_FIELDS), "files": named, "parts": others}
    model = next((line[key] for key in ("modelName", "model") if isinstance(line.get(key), str) and line[key]), "")
    extra = {"model": model} if model and not is_user else {}
    extra |= convert.other_message_fields("openwebui", rest, (), warn)
    name = "" if is_user else model
    return Node(is_user, text, convert.join_texts(reasoning), extra, parse_date(line.get("timestamp")), name)


def _file_text(file: Mapping[str, Any]) -> str:
    """Return the extracted text of an attached file."""
    stored = convert.as_object(file.get("file"))
    data = convert.as_object(stored.get("data")) or convert.as_object(file.get("data"))
    return convert.attached_text(file.get("name") or stored.get("filename"), data.get("content"))
