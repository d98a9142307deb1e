"""Read a character card or a lorebook from a PNG, CHARX, JSON or YAML file."""

import base64
import binascii
import codecs
from dataclasses import dataclass, field, replace
from typing import Any

import yaml
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.chats.images.pictures import BrokenPicture, media_type_of
from apps.chats.images.png import BrokenPNG, Chunk, is_png, read_chunks
from apps.chats.lorebook_entries import ParsedLorebook
from apps.chats.message_data.layout import dump
from apps.chats.repairs import Warn
from apps.common.stored_texts import gettext_stored
from apps.exchange.formats import lorebooks
from apps.exchange.formats.cards.agnai import is_agnai, to_card
from apps.exchange.formats.cards.charx import BrokenArchive, Charx
from apps.exchange.formats.cards.document import V2, V3, as_version, check_version, format_of, is_card, read_fields
from apps.exchange.formats.cards.png_texts import MAX_TEXT_BYTES, keyword_of, text_of
from apps.exchange.formats.json_lines import BrokenLine, loads
from apps.exchange.formats.signatures import binary_kind

# Keywords of the PNG chunks with a card of version 3, and of version 2 or 1. Version 3 has more fields.
CARD_KEYWORDS = ("ccv3", "chara")
# NovelAI keeps lorebooks in pictures under this keyword.
BOOK_KEYWORD = "naidata"
# oobabooga's YAML cards are short and flat. What is longer or deeper takes the parser seconds.
MAX_YAML_BYTES, MAX_YAML_EVENTS, MAX_YAML_DEPTH = 2**19, 10_000, 32

# Top-level keys of chat files.
CHAT_KEYS = {
    *("mes", "user_name", "chat_metadata", "histories", "data_visible", "visible", "messages", "savedsettings"),
    *("chat_messages", "mapping", "history"),
}
LOOKS_LIKE_CHAT = _("This looks like a chat. Import it with your chats.")
NOT_A_CARD = _("It is neither a character card nor a lorebook: it has the fields of neither.")
UNKNOWN_FILE = _("It is not a character card: neither a picture, nor an archive, JSON or YAML.")


class UnreadableCard(ValueError):
    """The file holds neither a card nor a lorebook. The text of the exception is a message for the user."""


@dataclass(frozen=True)
class ParsedCard:
    """A card as imported, its fields in the types that are stored, its lorebook and its picture."""

    format: str
    card: dict[str, Any]
    fields: dict[str, Any]
    book: ParsedLorebook | None = None
    picture: bytes | None = None
    media_type: str = ""


@dataclass
class ParsedCardFile:
    """The card or the lorebook of a file, and warnings about repairs, each once."""

    card: ParsedCard | None = None
    book: ParsedLorebook | None = None
    warnings: list[str] = field(default_factory=list)

    @property
    def format(self) -> str:
        """Return the name of the card's or lorebook's format."""
        parsed = self.card or self.book
        return parsed.format if parsed else ""

    def warn(self, text: str) -> None:
        """Add a warning, unless it is already listed."""
        if text not in self.warnings:
            self.warnings.append(text)


def read(content: bytes) -> ParsedCardFile:
    """Return the card or lorebook in a file. Raise UnreadableCard."""
    result = ParsedCardFile()
    kind = binary_kind(content)
    try:
        if is_png(content):
            _read_png(content, result)
        # A CHARX may be appended to a JPEG. Its directory is at the end, before at most 64 KB of comment.
        elif content.startswith(b"PK\x03\x04") or (b"PK\x05\x06" in content[-70_000:] and b"PK\x03\x04" in content):
            _read_charx(Charx(content), result)
        elif kind:
            raise UnreadableCard(gettext("It is not a character card: it is %(kind)s.") % {"kind": kind})
        else:
            _read_text(content, result)
    except (BrokenPNG, BrokenArchive, BrokenPicture) as error:
        raise UnreadableCard(str(error)) from None
    return result


def _read_png(content: bytes, result: ParsedCardFile) -> None:
    chunks = read_chunks(content)
    values = {keyword: _read_first(chunks, keyword, result.warn) for keyword in (*CARD_KEYWORDS, BOOK_KEYWORD)}
    cards = [values[keyword] for keyword in CARD_KEYWORDS if is_card(values[keyword])]
    book = lorebooks.read(values[BOOK_KEYWORD], result.warn) if values[BOOK_KEYWORD] is not None else None
    if cards:
        order = [keyword_of(chunk) for chunk in chunks]
        older_first = "chara" in order and "ccv3" in order and order.index("chara") < order.index("ccv3")
        card = _choose_version(cards) if older_first else cards[0]
        result.card = _parse_card(card, result.warn, content)
    elif book:
        result.book = book
    else:
        reasons = result.warnings  # a text that was meant to be one
        raise UnreadableCard(reasons[0] if reasons else gettext("There is no character card in this picture."))


def _read_first(chunks: list[Chunk], keyword: str, warn: Warn) -> Any:
    """Return the JSON value of the first readable chunk with a keyword, or None."""
    for chunk in chunks:
        if keyword_of(chunk) == keyword:
            try:
                return loads(_decode_base64(text_of(chunk)), warn)
            except (BrokenPNG, BrokenLine, binascii.Error) as error:
                warn(f"The picture's {keyword} text can't be read: {error}")
    return None


def _decode_base64(text: bytes) -> bytes:
    """Decode base64 with line breaks or without padding. Some programs write the JSON itself: return it unchanged."""
    packed = b"".join(text.split())
    if packed.startswith((b"{", b"[")):
        return text
    return base64.b64decode(packed.rstrip(b"=") + b"=" * (-len(packed.rstrip(b"=")) % 4), validate=True)


def _choose_version(cards: list[Any]) -> Any:
    """Return the version 2 card if the version 3 card is only a relabelled copy of it, else the version 3 card."""
    newest, oldest = cards[0], cards[-1]
    derived = oldest.get("spec") == V2["spec"] and dump(as_version(oldest, V3)) == dump(newest)
    return oldest if derived else newest


def _read_charx(archive: Charx, result: ParsedCardFile) -> None:
    card = _parse_json(archive.card(), result.warn)
    if not is_card(card):
        raise UnreadableCard("The card.json in the archive is not a character card.")
    if len(archive.names) > 2:
        result.warn(gettext_stored("Only the card's picture was kept of the archive's assets."))
    result.card = _parse_card(card, result.warn, _read_icon(archive, card, result.warn))


def _read_icon(archive: Charx, card: dict[str, Any], warn: Warn) -> bytes | None:
    try:
        picture = archive.icon(card)
        if picture is not None:
            media_type_of(picture)
    except (BrokenArchive, BrokenPicture, BrokenPNG) as error:
        warn(f"The card's picture was left out. {error}")
        return None
    return picture


def _read_text(content: bytes, result: ParsedCardFile) -> None:
    if len(content) > MAX_TEXT_BYTES:
        raise UnreadableCard(
            gettext("The text is larger than %(max_text_bytes)s bytes.") % {"max_text_bytes": MAX_TEXT_BYTES}
        )
    content = content.removeprefix(codecs.BOM_UTF8)
    parse = _parse_json if content.lstrip().startswith((b"{", b"[")) else _parse_yaml
    value = parse(content, result.warn)
    if is_agnai(value):
        result.card = replace(_parse_card(to_card(value), result.warn), format="agnai")
    elif is_card(value):
        result.card = _parse_card(value, result.warn)
    else:
        result.book = lorebooks.read(value, result.warn)
    if result.card is None and result.book is None:
        if _is_chat(value) or (value and isinstance(value, list)):
            raise UnreadableCard(LOOKS_LIKE_CHAT)
        raise UnreadableCard(NOT_A_CARD)


def _parse_json(content: bytes, warn: Warn) -> Any:
    try:
        return loads(content, warn)
    except BrokenLine as error:
        raise UnreadableCard(LOOKS_LIKE_CHAT if _is_chat_line(content) else str(error)) from None


def _parse_card(card: dict[str, Any], warn: Warn, picture: bytes | None = None) -> ParsedCard:
    check_version(card, warn)
    data = card["data"] if isinstance(card.get("data"), dict) else card
    book = lorebooks.read_card_book(data["character_book"], warn) if data.get("character_book") else None
    media_type = media_type_of(picture) if picture else ""
    return ParsedCard(format_of(card), card, read_fields(card, warn), book, picture, media_type)


def _parse_yaml(content: bytes, warn: Warn) -> Any:
    """Return the value of a YAML text. Raise UnreadableCard."""
    if len(content) > MAX_YAML_BYTES:
        raise UnreadableCard(UNKNOWN_FILE)
    try:
        text = content.decode()
        _check_yaml(text)
        return loads(dump(yaml.load(text, Loader=_StringLoader)).encode(), warn)  # noqa: S506 - a subclass of SafeLoader
    except (ValueError, TypeError, yaml.YAMLError, RecursionError) as error:
        reason = error if isinstance(error, UnreadableCard) else UNKNOWN_FILE
        raise UnreadableCard(str(reason)) from None


def _check_yaml(text: str) -> None:
    """Raise UnreadableCard for aliases, which may exhaust the memory once expanded, and for long or deep documents."""
    depth = 0
    for number, event in enumerate(yaml.parse(text, Loader=yaml.CSafeLoader)):
        if isinstance(event, yaml.AliasEvent):
            raise UnreadableCard("YAML with aliases is not supported.")
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > MAX_YAML_DEPTH or number > MAX_YAML_EVENTS:
            raise UnreadableCard(UNKNOWN_FILE)


class _StringLoader(yaml.CSafeLoader):
    """The safe loader, reading dates and numbers as strings: all fields of these cards are texts."""


_StringLoader.yaml_implicit_resolvers = {}


def _is_chat_line(content: bytes) -> bool:
    """Return whether the first line looks like one of a chat file."""
    try:
        return _is_chat(loads(content.lstrip().partition(b"\n")[0], lambda text: None))
    except BrokenLine:
        return False


def _is_chat(value: Any) -> bool:
    return isinstance(value, dict) and (not CHAT_KEYS.isdisjoint(value) or value.get("type") == "risuChat")
