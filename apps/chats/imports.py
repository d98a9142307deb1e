"""Takes in chats from files: all of a file or nothing, a batch at a time."""

import os
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import PurePath
from typing import Any, BinaryIO

from django.conf import settings
from django.db import transaction

from apps.chats.formats import sillytavern
from apps.chats.formats.parsed import ParsedChat, ParsedMessage, Report, UnreadableFile
from apps.chats.models import Character, Chat, ChatChange
from apps.chats.operations import find_or_create_character, record_change, store_messages
from apps.common import clock
from apps.common.problems import Invalid, TooLarge

MAX_TITLE = 200


@dataclass(frozen=True)
class ImportResult:
    chats: list[Chat]
    report: Report


@dataclass
class Cast:
    """Who speaks in a chat, and when last; gathered while its messages pass by.

    Of each side two names are enough to know that it isn't one person.
    """

    users: set[str] = field(default_factory=set)
    others: set[str] = field(default_factory=set)
    last_sent: datetime | None = None

    def watch(self, messages: Iterator[ParsedMessage]) -> Iterator[ParsedMessage]:
        for message in messages:
            side = self.users if message.is_user else self.others
            if message.name and not message.is_system and len(side) < 2:
                side.add(message.name)
            if message.sent_at and (self.last_sent is None or message.sent_at > self.last_sent):
                self.last_sent = message.sent_at
            yield message


def import_chat(
    owner: Any, file: BinaryIO, *, filename: str, title: str = "", character: Character | None = None
) -> ImportResult:
    """Store the chat in `file`, a binary file that can be rewound, as a new chat of `owner`.

    Without a title it gets that of the file; without a character, one of the name that the file says, or of
    the only speaker beside the user. Raises Invalid where the file is no chat, TooLarge beyond IMPORT_MAX_BYTES.
    """
    _check_size(file)
    try:
        parsed = sillytavern.parse(file)
    except UnreadableFile as error:
        raise Invalid.at("/file", error.reason) from None
    chat = _store(owner, parsed, title or _title_of(filename), character)
    return ImportResult([chat], parsed.report)


def _check_size(file: BinaryIO) -> None:
    file.seek(0, os.SEEK_END)
    size = file.tell()
    file.seek(0)
    if size > settings.IMPORT_MAX_BYTES:
        raise TooLarge(f"The file is larger than {settings.IMPORT_MAX_BYTES} bytes.")


def _title_of(filename: str) -> str:
    stem = PurePath(filename.replace("\\", "/")).stem
    printable = "".join(char if char.isprintable() else " " for char in stem)
    return printable.strip()[:MAX_TITLE] or "Imported chat"


@transaction.atomic
def _store(owner: Any, parsed: ParsedChat, title: str, character: Character | None) -> Chat:
    header = parsed.header
    chat = Chat.objects.create(owner_id=owner.pk, title=title, metadata=header.metadata, header_layout=header.layout)
    cast = Cast()
    for _ in store_messages(chat, cast.watch(parsed.messages)):
        pass
    chat.user_name = header.user_name or _only(cast.users)
    character_name = header.character_name or _only(cast.others)
    if character or character_name:
        chat.character = character or find_or_create_character(owner, character_name)
    chat.last_active = min(cast.last_sent or clock.now(), clock.now())
    chat.save(update_fields=["user_name", "character"])
    # Without message ids: the change is all of the chat, which may be tens of thousands.
    record_change(chat, ChatChange.Kind.IMPORT)
    return chat


def _only(names: set[str]) -> str:
    return next(iter(names)) if len(names) == 1 else ""
