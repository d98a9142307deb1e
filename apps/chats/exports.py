"""Writes chats as files, a window of messages at a time."""

import json
from collections.abc import Callable, Iterator
from itertools import chain

from apps.chats.copying import parsed_message, windows_of
from apps.chats.dates import humanized
from apps.chats.formats.sillytavern_lines import render_header, render_message
from apps.chats.models import Chat, Message
from apps.chats.scenes import break_after
from apps.chats.wire import chat_document, message_document


def export_jsonl(chat: Chat) -> Iterator[bytes]:
    """The chat as a SillyTavern file, UTF-8, in chunks; like SillyTavern's own, without a newline at the end.

    Nothing is left out: unknown fields, original date strings and the order of keys are those of the imported file.
    """
    separator = ""
    for lines in chain(_header(chat), _lines(chat)):
        yield (separator + "\n".join(lines)).encode()
        separator = "\n"


def export_json(chat: Chat) -> Iterator[bytes]:
    """One document, `{"chat": …, "messages": […]}`, as the API shows them, in chunks."""
    yield f'{{"chat":{_compact(chat_document(chat))},"messages":['.encode()
    separator = ""
    for window in windows_of(chat):
        yield (separator + ",".join(_compact(message_document(message)) for message in window)).encode()
        separator = ","
    yield b"]}"


def export_text(chat: Chat, *, hidden: bool = False) -> Iterator[bytes]:
    """Who said what, a blank line between; without hidden messages unless ``hidden``."""
    for window in windows_of(chat):
        yield "".join(f"{message.name}: {message.mes}\n\n" for message in window if _shown(message, hidden)).encode()


def export_markdown(chat: Chat, *, hidden: bool = False) -> Iterator[bytes]:
    """As text, with the title, a heading for each day, and the scenes' names; without hidden messages unless asked."""
    yield f"# {chat.title}\n\n".encode()
    day = ""
    for window in windows_of(chat):
        parts = []
        for message in window:
            if message.sent_at and f"{message.sent_at:%Y-%m-%d}" != day:
                day = f"{message.sent_at:%Y-%m-%d}"
                parts.append(f"## {day}\n\n")
            if _shown(message, hidden):
                parts.append(f"**{message.name}**\n\n{message.mes}\n\n")
            if scene := break_after(message):
                parts.append(f"* * *\n\n*{scene.name}*\n\n" if scene.name else "* * *\n\n")
        yield "".join(parts).encode()


# What an export is called, its media type, and the ending of its file.
FORMATS: dict[str, tuple[Callable[..., Iterator[bytes]], str, str]] = {
    "jsonl": (export_jsonl, "application/jsonl", "jsonl"),
    "json": (export_json, "application/json", "json"),
    "text": (export_text, "text/plain; charset=utf-8", "txt"),
    "markdown": (export_markdown, "text/markdown; charset=utf-8", "md"),
}


def export_filename(chat: Chat, ending: str = "jsonl") -> str:
    """A file name for the chat: its title, without what file systems don't take."""
    safe = "".join(char if char.isprintable() and char not in '/\\:*?"<>|' else "_" for char in chat.title)
    return f"{safe.strip(' .') or 'chat'}.{ending}"


def _shown(message: Message, hidden: bool) -> bool:
    return hidden or not message.is_system


def _compact(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _header(chat: Chat) -> Iterator[list[str]]:
    line = render_header(
        user_name=chat.user_name,
        character_name=chat.character.name if chat.character else "",
        create_date=humanized(chat.created_at),
        metadata=chat.metadata,
        layout=chat.header_layout,
    )
    if line is not None:
        yield [line]


def _lines(chat: Chat) -> Iterator[list[str]]:
    return ([render_message(parsed_message(message)) for message in window] for window in windows_of(chat))
