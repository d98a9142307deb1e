"""Import a file or a lorebook into the memories of a chat or of a character."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, BinaryIO

from django.db import transaction
from django.utils.translation import gettext

from apps.chats.locking import lock_chat
from apps.chats.models import Character, Chat, Lorebook
from apps.common.database.rows import first_or_missing
from apps.common.problems import Conflict, Invalid, TooLarge
from apps.common.scoping import Owner, owner_id_of
from apps.exchange.formats.cards import reading as cards
from apps.exchange.formats.json_lines import BrokenLine, loads
from apps.exchange.memories.reading import memory_lists, smart_memory, st_bme
from apps.exchange.memories.reading.found import Found
from apps.exchange.memories.reading.lorebooks import read_book
from apps.exchange.memories.writing import write
from apps.exchange.memories.writing.target import ImportTarget

MAX_FILE_BYTES = 64 * 2**20
LOREBOOK = "lorebook"


@dataclass(frozen=True)
class ImportedMemories:
    """The name of the format, how much was written by what it is, and what could not be read."""

    format: str
    written: dict[str, int]
    summary: str
    warnings: list[str]


@dataclass(frozen=True)
class _Reading:
    """A file that was read. ``found_for`` returns what is in it for a target, which some formats read by its names.

    ``linked``: positions in it are those of the target's chat.
    """

    program: str
    found_for: Callable[[ImportTarget], Found]
    linked: bool = True


def import_file(
    owner: Owner, file: BinaryIO, *, chat: Chat | None = None, character: Character | None = None
) -> ImportedMemories:
    """Write what a file holds into the memories of a chat or of a character: all or nothing.

    The file is a lorebook, a card with one, SillyTavern's settings with memories of Smart Memory, a backup or graph of
    ST-BME, an export of another memory system, or a text with a list. Raise Invalid if it is none of these, TooLarge
    beyond MAX_FILE_BYTES, Missing if the target was deleted.
    """
    reading = _read(file)  # before the lock, for which all writes to the chat would wait meanwhile
    with transaction.atomic():
        target = _locked_target(owner, chat, character)
        target.program, target.linked = reading.program, reading.linked
        return _write(reading.found_for(target), target)


def _read(file: BinaryIO) -> _Reading:
    """Tell the format of a file, and read it. Raise Invalid, TooLarge."""
    if file.seek(0, os.SEEK_END) > MAX_FILE_BYTES:
        raise TooLarge(
            gettext("The file is larger than %(max_file_bytes)s bytes.") % {"max_file_bytes": MAX_FILE_BYTES}
        )
    file.seek(0)
    content = file.read()
    value = _json(content)
    if listed := memory_lists.read_list(value):
        program, found = listed
        return _Reading(program, lambda target: found)
    if isinstance(value, dict) and (graph := st_bme.graph_in(value)) is not None:
        read_graph = st_bme.read_graph(graph)
        return _Reading("ST-BME", lambda target: read_graph)
    if isinstance(value, dict) and (characters := smart_memory.characters_in(value)):
        # Its positions are those of many chats.
        return _Reading("Smart Memory", partial(_of_smart_memory, characters), linked=False)
    if value is None and (text := _plain_text(content)):
        read_text = memory_lists.read_text(text)
        return _Reading("text", lambda target: read_text)
    return _Reading(LOREBOOK, partial(_of_book, *_book_in(content)))


def _book_in(content: bytes) -> tuple[dict[str, Any], list[str]]:
    """Return the document of a lorebook, or of a card's, and the warnings. Raise Invalid."""
    try:
        parsed = cards.read(content)
    except cards.UnreadableCard as error:
        raise Invalid.at(
            "/file", gettext("It holds no memories that can be read. %(error)s") % {"error": error}
        ) from None
    book = parsed.card.book if parsed.card else parsed.book
    if book is None:
        raise Invalid.at("/file", gettext("There is no lorebook in this card."))
    return book.document, parsed.warnings


@transaction.atomic
def import_lorebook(
    owner: Owner, lorebook: Lorebook, *, chat: Chat | None = None, character: Character | None = None
) -> ImportedMemories:
    """Write the entries of a stored lorebook into the memories of a chat or of a character. Raise Missing, Conflict."""
    if lorebook.withheld:
        raise Conflict(gettext("Moderators have hidden this. You can answer their decision in the settings."))
    target = _locked_target(owner, chat, character)
    return _write(_of_book(lorebook.document, [], target), target)


def _locked_target(owner: Owner, chat: Chat | None, character: Character | None) -> ImportTarget:
    """Return the target with its row locked, so that two imports at once don't store the same memory twice."""
    if chat is not None:
        chat = lock_chat(owner, chat.pk)
    person = character or (chat.character if chat else None)
    if person is not None:
        rows = Character.objects.for_owner(owner).filter(pk=person.pk)
        person = first_or_missing(rows.select_for_update(), gettext("There is no such character."))
    return ImportTarget(owner_id_of(owner), chat, person, LOREBOOK)


def _json(content: bytes) -> Any:
    try:
        return loads(content, lambda warning: None)
    except BrokenLine:
        return None


def _plain_text(content: bytes) -> str:
    """Return the content as a text, or nothing if it is another kind of file, such as an image or broken JSON."""
    try:
        text = content.decode("utf-8-sig").strip()
    except UnicodeDecodeError:
        return ""
    return "" if "\0" in text or text[:1] in "{[<" else text


def _of_smart_memory(characters: dict[str, dict[str, Any]], target: ImportTarget) -> Found:
    """Return what the settings have of the target's character. Raise Invalid if they have nothing."""
    name = target.character.name if target.character else ""
    by_name = {key.casefold(): document for key, document in characters.items()}
    if name.casefold() not in by_name:
        others = ", ".join(sorted(characters)[:10])
        raise Invalid.at(
            "/file",
            gettext("These settings have memories of %(others)s, and none of “%(name)s”.")
            % {"others": others, "name": name},
        )
    return smart_memory.read_character(by_name[name.casefold()])


def _of_book(document: dict[str, Any], warnings: list[str], target: ImportTarget) -> Found:
    """Return what a lorebook holds, with the target's names in it."""
    names = {
        "char": target.character.name if target.character else "",
        "user": target.chat.user_name if target.chat else "",
    }
    found = read_book(document, names)
    for warning in warnings:
        found.warn(warning)
    return found


def _write(found: Found, target: ImportTarget) -> ImportedMemories:
    write(found, target)
    written = {name: count for name, count in target.written.items() if count}
    return ImportedMemories(target.program, written, target.summary(), found.warnings)


def import_into(owner: Owner, source: BinaryIO | Lorebook, **target: Any) -> ImportedMemories:
    """Import a file or a stored lorebook. See ``import_file``."""
    if isinstance(source, Lorebook):
        return import_lorebook(owner, source, **target)
    return import_file(owner, source, **target)
