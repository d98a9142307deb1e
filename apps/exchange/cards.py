"""Import and export character cards and lorebooks."""

import os
from dataclasses import dataclass, field
from typing import Any, BinaryIO

from django.db import transaction
from django.utils.translation import gettext

from apps.chats.images.pictures import PNG
from apps.chats.message_data.layout import dump
from apps.chats.models import Character, Lorebook
from apps.chats.operations import create_character, set_character_image, store_book, update_character
from apps.chats.queries import image_of, lorebook_of
from apps.common.problems import Invalid, TooLarge
from apps.common.scoping import Owner
from apps.exchange.filenames import safe_filename, title_from_filename
from apps.exchange.formats.cards.document import FIELDS
from apps.exchange.formats.cards.merging import CharacterCard
from apps.exchange.formats.cards.reading import ParsedCard, ParsedCardFile, UnreadableCard, read
from apps.exchange.formats.cards.writing import as_png, blank_picture, write_png

# A card with its picture takes a few megabytes, an archive with many assets tens of megabytes.
MAX_FILE_BYTES = 64 * 2**20


@dataclass(frozen=True)
class CardImportResult:
    """The characters and lorebooks created from a file, and the report with its format and warnings."""

    report: dict[str, Any]
    characters: list[Character] = field(default_factory=list)
    lorebooks: list[Lorebook] = field(default_factory=list)
    existed: bool = False  # the character has been imported from the same card before


@transaction.atomic
def import_card(owner: Owner, file: BinaryIO, *, filename: str) -> CardImportResult:
    """Create the character in a file, with its lorebook and picture, or the lorebook if the file is one.

    A character that was imported from the same card is returned as it is. One of the same name without a card, as an
    import of a chat creates it, gets the card. Raise Invalid if the file is neither, TooLarge beyond 64 MiB.
    """
    parsed = _read(file)
    if parsed.card is None:
        return _import_book(owner, parsed, filename)
    name = title_from_filename(filename) or "Unnamed"
    named = Character.objects.for_owner(owner).own().filter(name=parsed.card.fields["name"] or name)
    namesakes = list(named.order_by("pk"))
    for character in namesakes:
        if character.card == parsed.card.card:
            return CardImportResult(_report(parsed), [character], list(character.lorebooks.all()), existed=True)
    character = next(filter(_is_bare, namesakes), None) or create_character(owner, name=name)
    _fill_character(character, parsed.card)
    return CardImportResult(_report(parsed), [character], list(character.lorebooks.all()))


def _fill_character(character: Character, parsed: ParsedCard) -> None:
    """Give a character without a card the fields, the picture and the lorebook of one.

    It keeps its name if the card has none.
    """
    fields = parsed.fields | {"name": parsed.fields["name"] or character.name}
    update_character(character, **fields, card=parsed.card)
    if parsed.picture is not None:
        set_character_image(character, parsed.picture, parsed.media_type)
    if parsed.book is not None:
        store_book(character.owner_id, parsed.book, character.name, character)


@transaction.atomic
def import_lorebook(owner: Owner, file: BinaryIO, *, filename: str) -> CardImportResult:
    """Create the lorebook in a file, which may be a card with a lorebook. Raise Invalid, TooLarge."""
    return _import_book(owner, _read(file), filename)


def _import_book(owner: Owner, parsed: ParsedCardFile, filename: str) -> CardImportResult:
    book = parsed.card.book if parsed.card else parsed.book
    if book is None:
        raise Invalid.at("/file", gettext("There is no lorebook in this card."))
    return CardImportResult(_report(parsed), [], [store_book(owner, book, title_from_filename(filename) or "Lorebook")])


def _is_bare(character: Character) -> bool:
    """Return whether a character has nothing but a name."""
    is_filled = character.card or any(getattr(character, name) for name in FIELDS if name != "name")
    return not is_filled and image_of(character) is None and lorebook_of(character) is None


def _read(file: BinaryIO) -> ParsedCardFile:
    size = file.seek(0, os.SEEK_END)
    if size > MAX_FILE_BYTES:
        raise TooLarge(
            gettext("The file is larger than %(max_file_bytes)s bytes.") % {"max_file_bytes": MAX_FILE_BYTES}
        )
    file.seek(0)
    try:
        return read(file.read())
    except UnreadableCard as error:
        raise Invalid.at("/file", str(error)) from None


def _report(parsed: ParsedCardFile) -> dict[str, Any]:
    return {"format": parsed.format, "warnings": parsed.warnings}


def card_of(character: Character) -> CharacterCard:
    """Return the character as a card: the imported one with later changes."""
    book = lorebook_of(character)
    fields = {name: getattr(character, name) for name in FIELDS}
    return CharacterCard(character.card, fields, book.document if book else None)


def export_json(character: Character) -> bytes:
    """Return the character's card as JSON."""
    return dump(card_of(character).document()).encode()


def export_png(character: Character) -> bytes:
    """Return the character's picture, or a blank one, as a PNG that contains the card."""
    image = image_of(character)
    if image is None:
        picture = blank_picture(character.name)
    else:
        content = bytes(image.content)
        picture = content if image.media_type == PNG else as_png(content)
    return write_png(picture, card_of(character))


def card_filename(name: str, extension: str) -> str:
    """Return the name of the file to which a card or lorebook is exported."""
    return f"{safe_filename(name) or 'card'}.{extension}"
