"""Export chats as files, a batch of messages at a time. A replica of the database may give batches and images."""

import json
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain

from apps.chats.dates import humanized_date
from apps.chats.images.references import with_data_urls
from apps.chats.message_data.layout import forget_layout
from apps.chats.models import Chat, Message
from apps.chats.queries import message_batches
from apps.chats.scenes import break_after
from apps.chats.serializers import chat_document, message_document
from apps.common.database.replica import from_replica
from apps.exchange.chats.carried import with_carried
from apps.exchange.chats.carried_lorebooks import exported_lorebooks, metadata_with_lorebooks
from apps.exchange.filenames import safe_filename
from apps.exchange.formats.sillytavern_lines import render_header, render_message


def export_jsonl(chat: Chat) -> Iterator[bytes]:
    """Yield the chat as a SillyTavern file in UTF-8. As in SillyTavern's own files, the last line has no newline.

    The export is lossless: unknown fields, date strings and the order of keys are those of the imported file. What
    other apps store with messages is added to their ``extra`` (see ``carried``), lorebooks to the chat's metadata.
    """
    separator = ""
    messages = with_carried(chat, _batches(chat))
    batches = ([render_message(message.parsed()) for message in batch] for batch in messages)
    for lines in chain(_header_lines(chat), batches):
        yield (separator + _with_images(chat, "\n".join(lines))).encode()
        separator = "\n"


def export_json(chat: Chat) -> Iterator[bytes]:
    """Yield one JSON document, `{"chat": …, "messages": […]}`, with the fields of the API.

    The chat has its lorebooks, if there are any, as `lorebooks`.
    """
    books = exported_lorebooks(chat)
    document = chat_document(chat) | ({"lorebooks": books} if books else {})
    yield f'{{"chat":{_compact_json(document)},"messages":['.encode()
    separator = ""
    for batch in with_carried(chat, _batches(chat)):
        documents = ",".join(_compact_json(message_document(message)) for message in batch)
        yield (separator + _with_images(chat, documents)).encode()
        separator = ","
    yield b"]}"


def export_text(chat: Chat, *, include_hidden: bool = False) -> Iterator[bytes]:
    """Yield names and texts, separated by blank lines. Omit hidden messages by default."""
    for batch in _batches(chat):
        included = [message for message in batch if _is_included(message, include_hidden)]
        yield "".join(f"{message.name}: {message.mes}\n\n" for message in included).encode()


def export_markdown(chat: Chat, *, include_hidden: bool = False) -> Iterator[bytes]:
    """Yield Markdown with the title, a heading per day, and scene names. Omit hidden messages by default."""
    yield f"# {chat.title}\n\n".encode()
    day = ""
    for batch in _batches(chat):
        parts = []
        for message in batch:
            if message.sent_at and f"{message.sent_at:%Y-%m-%d}" != day:
                day = f"{message.sent_at:%Y-%m-%d}"
                parts.append(f"## {day}\n\n")
            if _is_included(message, include_hidden):
                parts.append(f"**{message.name}**\n\n{message.mes}\n\n")
            if scene := break_after(message):
                parts.append(f"* * *\n\n*{scene.name}*\n\n" if scene.name else "* * *\n\n")
        yield _with_images(chat, "".join(parts)).encode()


# Function, media type and file extension by format name.
FORMATS: dict[str, tuple[Callable[..., Iterator[bytes]], str, str]] = {
    "jsonl": (export_jsonl, "application/jsonl", "jsonl"),
    "json": (export_json, "application/json", "json"),
    "text": (export_text, "text/plain; charset=utf-8", "txt"),
    "markdown": (export_markdown, "text/markdown; charset=utf-8", "md"),
}


def export_filename(chat: Chat, extension: str = "jsonl") -> str:
    """Return the name of the file to which a chat is exported."""
    return f"{safe_filename(chat.title) or 'chat'}.{extension}"


def _batches(chat: Chat) -> Iterator[list[Message]]:
    return message_batches(chat, read=from_replica)


def _with_images(chat: Chat, text: str) -> str:
    return from_replica(partial(with_data_urls, chat, text))


def _is_included(message: Message, include_hidden: bool) -> bool:
    return include_hidden or not message.is_system


def _compact_json(document: object) -> str:
    return json.dumps(document, ensure_ascii=False, separators=(",", ":"))


def _header_lines(chat: Chat) -> Iterator[list[str]]:
    metadata, layout = metadata_with_lorebooks(chat), chat.header_layout
    if metadata is not chat.metadata:
        layout = forget_layout(layout, ["chat_metadata"])
    line = render_header(
        user_name=chat.user_name,
        character_name=chat.character.name if chat.character else "",
        create_date=humanized_date(chat.created_at),
        metadata=metadata,
        layout=layout,
    )
    if line is not None:
        yield [line]
