"""Reads chat files of any format in tests."""

import io
import json
from typing import Any

from apps.chats.message_data.parsed import ParsedMessage
from apps.exchange.formats.files import ParsedFile, parse_file
from apps.exchange.formats.parsed import ParsedChat, UnreadableFile


def opened(document: Any) -> ParsedFile:
    """`document` as a file: bytes as they are, anything else as JSON."""
    content = document if isinstance(document, bytes) else json.dumps(document).encode()
    return parse_file(io.BytesIO(content))


def chats_in(document: Any) -> list[tuple[ParsedChat, list[ParsedMessage]]]:
    return [(chat, list(chat.messages)) for chat in opened(document)]


def only_chat(document: Any) -> tuple[ParsedChat, list[ParsedMessage]]:
    [found] = chats_in(document)
    return found


def said(messages: list[ParsedMessage]) -> list[tuple[str, bool, str]]:
    return [(message.name, message.is_user, message.active.mes) for message in messages]


def reason_for(document: Any) -> str:
    """Why the file is no chat; fails where it is one."""
    try:
        chats_in(document)
    except UnreadableFile as error:
        return error.reason
    raise AssertionError("It was read.")
