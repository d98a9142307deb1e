"""Carry the lorebooks that are used in a chat in its exported file, and make them again on import."""

from collections.abc import Sequence
from typing import Any

from apps.chats.lorebook_entries import ParsedLorebook
from apps.chats.message_data.layout import dump
from apps.chats.message_data.namespaces import LOCI_NAMESPACE, namespace_of
from apps.chats.models import Chat, Lorebook
from apps.chats.operations import store_book
from apps.chats.queries import lorebooks_in, lorebooks_of_chat
from apps.common.stored_texts import gettext_stored, joined_texts
from apps.exchange.formats.json_lines import MAX_LINE_BYTES
from apps.exchange.formats.lorebooks import read, write
from apps.exchange.formats.parsed import ImportReport

MAX_BOOKS = 50  # of a file
FORMAT = "v3"
WORLD_INFO = "world_info"  # SillyTavern's key for the name of a chat's lorebook


def exported_lorebooks(chat: Chat) -> list[dict[str, Any]]:
    """Return the lorebooks that are used in the chat, or in one that it branched from, in the form of version 3."""
    return [write(_document(book), FORMAT) for book in lorebooks_of_chat(chat)]


def metadata_with_lorebooks(chat: Chat) -> dict[str, Any]:
    """Return the chat's metadata with its lorebooks.

    SillyTavern keeps the unknown key, and finds a lorebook of the name of the first one if it has such a file.
    """
    books = exported_lorebooks(chat)
    # The metadata are one line of the file: a longer one would not be read again.
    while len(dump(books).encode()) > MAX_LINE_BYTES // 2:
        books.pop()
    if not books:
        return chat.metadata
    own = {**namespace_of(chat.metadata, LOCI_NAMESPACE), "lorebooks": books}
    return {WORLD_INFO: books[0]["data"]["name"], **chat.metadata, LOCI_NAMESPACE: own}


def import_lorebooks(chat: Chat, values: Sequence[Any], report: ImportReport) -> None:
    """Make the lorebooks of a file for a chat that was just imported.

    One that its prompts have already, by its character or persona, isn't doubled. Without any in the file, take the
    lorebook that SillyTavern's metadata name, if the owner has one of that name that is used nowhere.
    """
    if not values:
        _use_named(chat)
    known = {dump(_document(book)) for book in lorebooks_in(chat, chat.character)}
    for number, value in enumerate(values[:MAX_BOOKS], start=1):
        book = _read(value, report, number)
        if book is not None and dump(book.document) not in known:
            store_book(chat.owner_id, book, f"Lorebook of {chat.title}", chat=chat)
            known.add(dump(book.document))
    if len(values) > MAX_BOOKS:
        report.warn(
            1,
            gettext_stored(
                "The file has %(count)s lorebooks, of which %(max_books)s were read.",
                count=len(values),
                max_books=MAX_BOOKS,
            ),
        )


def move_lorebooks(copy: Chat, chat: Chat) -> None:
    """Use the lorebooks of a copy in a chat instead. Delete those that the chat has already."""
    known = {dump(_document(book)) for book in lorebooks_in(chat, chat.character)}
    for book in copy.lorebooks.all():
        if dump(_document(book)) in known:
            book.delete()
        else:
            book.chat = chat
            book.save(update_fields=["chat"])


def _document(book: Lorebook) -> dict[str, Any]:
    """Return the document of a lorebook, which may lack the name."""
    return {**book.document, "name": book.name}


def _read(value: Any, report: ImportReport, number: int) -> ParsedLorebook | None:
    def warn(text: str) -> None:
        report.warn(1, joined_texts(f"Lorebook {number}:", text))

    book = read(value, warn)
    if book is None:
        warn("It was damaged and was not read.")
    return book


def _use_named(chat: Chat) -> None:
    name = chat.metadata.get(WORLD_INFO)
    if isinstance(name, str) and name:
        free = Lorebook.objects.for_owner(chat.owner_id).filter(character=None, persona=None, chat=None)
        named = free.filter(name=name).order_by("pk").values("pk")[:1]
        Lorebook.objects.for_owner(chat.owner_id).filter(pk__in=named).update(chat=chat)
