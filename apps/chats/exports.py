"""Writes chats as files, a window of messages at a time."""

from collections.abc import Iterator
from itertools import chain

from apps.chats.dates import humanized
from apps.chats.formats.parsed import ParsedMessage, ParsedSwipe
from apps.chats.formats.sillytavern_lines import render_header, render_message
from apps.chats.models import Chat, Message

WINDOW = 200


def export_jsonl(chat: Chat) -> Iterator[bytes]:
    """The chat as a SillyTavern file, UTF-8, in chunks; like SillyTavern's own, without a newline at the end.

    Each window is read when it is asked for: a write that happens meanwhile shows in those still to come.
    """
    separator = ""
    for lines in chain(_header(chat), _windows(chat)):
        yield (separator + "\n".join(lines)).encode()
        separator = "\n"


def export_filename(chat: Chat) -> str:
    """A file name for the chat: its title, without what file systems don't take."""
    safe = "".join(char if char.isprintable() and char not in '/\\:*?"<>|' else "_" for char in chat.title)
    return f"{safe.strip(' .') or 'chat'}.jsonl"


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


def _windows(chat: Chat) -> Iterator[list[str]]:
    messages = Message.objects.for_owner(chat.owner_id).filter(chat=chat).with_swipes().order_by("index")
    start = 0
    while window := list(messages.filter(index__gte=start)[:WINDOW]):
        yield [render_message(_parsed(message)) for message in window]
        start = window[-1].index + 1


def _parsed(message: Message) -> ParsedMessage:
    return ParsedMessage(
        name=message.name,
        is_user=message.is_user,
        is_system=message.is_system,
        send_date=message.send_date,
        sent_at=message.sent_at,
        swipe_id=message.swipe_id,
        swipes=tuple(ParsedSwipe(swipe.mes, swipe.extra, swipe.info) for swipe in message.ordered_swipes),
        layout=message.layout,
    )
