"""Parse RisuAI's chat exports: a document with one chat, or with all chats of a character."""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.macros import resolve_macros
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.repairs import Warn, as_text
from apps.exchange.formats import conversion as convert
from apps.exchange.formats.documents import parse_conversations, read_array, read_other_fields, require_messages
from apps.exchange.formats.parsed import ImportReport, ParsedChat

FORMAT = "risu"
# The `type` of a document with one chat, and of one with all chats of a character.
ONE_CHAT, ALL_CHATS = "risuChat", "risuAllChats"

_MESSAGES_PATH = ("data", "message")
_THOUGHTS = re.compile(r"<Thoughts>(.*?)</Thoughts>\s*", re.DOTALL | re.IGNORECASE)
_THOUGHTS_END = re.compile(r"</Thoughts>\s*", re.IGNORECASE)


def parse_one_chat(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    """Yield the chat of a `risuChat` document: its `data` is the chat, which is read message by message."""
    chat_report = ImportReport(FORMAT, unit="message")
    chat = convert.as_object(read_other_fields(file, _MESSAGES_PATH, chat_report).get("data"))
    speakers = _speakers(read_array(file, _MESSAGES_PATH, ImportReport(FORMAT)))
    yield require_messages(_chat(chat, read_array(file, _MESSAGES_PATH, chat_report), speakers, chat_report))


def parse_all_chats(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    """Yield the chats of a `risuAllChats` document: its `data` is an array of chats."""

    def parse_chat(chat: dict[str, Any], report: ImportReport) -> ParsedChat:
        values = list(convert.numbered_items(chat.get("message")))
        return _chat(convert.without(chat, "message"), iter(values), _speakers(values), report)

    return parse_conversations(file, ("data",), report, parse_chat)


def _speakers(values: Iterable[tuple[int, Any]]) -> dict[str, str]:
    """Return the names of a group's members by their ids: those in the file, else numbers that tell them apart.

    Return nothing if only one character speaks, whose name the file doesn't have.
    """
    names: dict[str, str] = {}
    for _, line in values:
        if isinstance(line, dict) and line.get("role") != "user" and isinstance(line.get("saying"), str):
            name = line.get("name")
            names[line["saying"]] = (name if isinstance(name, str) else "") or names.get(line["saying"], "")
    if len(names) < 2:
        return {}
    return {member: name or f"Speaker {number}" for number, (member, name) in enumerate(names.items(), 1)}


def _chat(
    chat: Mapping[str, Any], values: Iterator[tuple[int, Any]], speakers: Mapping[str, str], report: ImportReport
) -> ParsedChat:
    lines = convert.objects_with_key(values, "data", report)
    messages = (_message(line, speakers, partial(report.warn, number)) for number, line in lines)
    other_fields = convert.other_chat_fields(chat, ("name", "localLore", "note"), report)
    note = convert.join_texts([chat.get("note")])
    header = convert.build_header("", "", risu=other_fields, note_prompt=note)
    lore = convert.objects_in(chat.get("localLore"))
    header = replace(header, lorebooks=[{"type": "risu", "ver": 1, "data": lore}] if lore else [])
    if any(name.startswith("Speaker ") for name in speakers.values()):
        report.note("The file has no names of the group's members: they are numbered.")
    return ParsedChat(header, messages, report, convert.title_of(chat.get("name")))


def _message(line: Mapping[str, Any], speakers: Mapping[str, str], warn: Warn) -> ParsedMessage:
    # `role` is "user" or "char"; `data` is the text, not an object.
    is_user = line.get("role") == "user"
    extra: dict[str, Any] = {}
    if isinstance(model := convert.as_object(line.get("generationInfo")).get("model"), str):
        extra["model"] = model
    extra |= convert.other_message_fields("risu", line, ("role", "data", "time", "name"), warn)
    text = as_text(line.get("data"), warn)
    thinking, said = convert.split_after_last(_THOUGHTS_END, text)
    if thoughts := convert.join_texts(thought.strip() for thought in _THOUGHTS.findall(thinking)):
        text, extra = (_THOUGHTS.sub("", thinking) + said).strip(), extra | {"reasoning": thoughts}
    saying = line.get("saying")
    member = speakers.get(saying, "") if isinstance(saying, str) and not is_user else ""
    name = convert.name_or(line.get("name"), convert.USER if is_user else member, warn)
    if name and not is_user:
        text = resolve_macros(text, {"char": name})
    version = convert.Version(text, extra, parse_date(line.get("time")))
    # A `disabled` message is shown but not sent to the model, as SillyTavern's `is_system`.
    return convert.build_message(name, is_user, [version], is_system=line.get("disabled") is True)
