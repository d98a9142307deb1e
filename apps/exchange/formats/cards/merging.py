"""Merge the stored fields into a card as imported, so that unchanged fields are exported exactly as imported."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.chats.message_data.layout import dump
from apps.exchange.formats import lorebooks
from apps.exchange.formats.cards.document import ALIASES, as_version, blank_card, read_fields, upgrade_to_v2


@dataclass(frozen=True)
class CharacterCard:
    """A card as imported (empty if created here), its current fields, and its lorebook or None."""

    original: Mapping[str, Any]
    fields: Mapping[str, Any]
    book: Mapping[str, Any] | None = None

    def document(self, spec: Mapping[str, str] | None = None) -> dict[str, Any]:
        """Return the card to write, as `spec` or by default in the version imported, at least version 2."""
        document = upgrade_to_v2(self.original) if self.original else blank_card()
        before = read_fields(document)
        for field, value in self.fields.items():
            if dump(before[field]) != dump(value):
                _set_field(document, field, value)
        self._merge_book(document["data"])
        return document if spec is None else as_version(document, spec)

    def _merge_book(self, data: dict[str, Any]) -> None:
        original_book = data.get("character_book")
        if self.book is None:
            # A value that is not an object was not imported as a book, so it is kept.
            if isinstance(original_book, dict) and original_book:
                del data["character_book"]
            return
        parsed = lorebooks.read_card_book(original_book, lambda text: None) if original_book else None
        if parsed is None or dump(parsed.document) != dump(self.book):
            data["character_book"] = lorebooks.write(self.book, "card")


def _set_field(document: dict[str, Any], field: str, value: Any) -> None:
    """Write a field under `data`, and in its copies at the top level if present."""
    document["data"][field] = value
    for name in ALIASES.get(field, (field,)):
        if name in document:
            document[name] = value
