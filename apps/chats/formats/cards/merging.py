"""Merge the stored fields into a card as imported, so that unchanged fields are exported exactly as they were."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.chats.formats import lorebooks
from apps.chats.formats.cards.document import ALIASES, as_version, blank_card, read_fields, upgrade_to_v2
from apps.chats.formats.layout import dump


@dataclass(frozen=True)
class Card:
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
                _write(document, field, value)
        self._merge_book(document["data"])
        return document if spec is None else as_version(document, spec)

    def _merge_book(self, data: dict[str, Any]) -> None:
        given = data.get("character_book")
        if self.book is None:
            # A value that is no object was never read as a book, and stays as it is.
            if isinstance(given, dict) and given:
                del data["character_book"]
            return
        read = lorebooks.read_card_book(given, lambda text: None) if given else None
        if read is None or dump(read.document) != dump(self.book):
            data["character_book"] = lorebooks.write(self.book, "card")


def _write(document: dict[str, Any], field: str, value: Any) -> None:
    """Write a field under `data`, and in its copies at the top level if present."""
    document["data"][field] = value
    for name in ALIASES.get(field, (field,)):
        if name in document:
            document[name] = value
