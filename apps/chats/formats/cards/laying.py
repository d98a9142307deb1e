"""Our fields laid over the card as it came: what they don't change goes out as it came in, in its place."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from apps.chats.formats import lorebooks
from apps.chats.formats.cards.document import ALIASES, as_version, blank, lifted, read_fields
from apps.chats.formats.layout import dump


@dataclass(frozen=True)
class Card:
    """A card as it came (empty where it was made here), its fields as they are now, and its lorebook, if any."""

    original: Mapping[str, Any]
    fields: Mapping[str, Any]
    book: Mapping[str, Any] | None = None

    def document(self, spec: Mapping[str, str] | None = None) -> dict[str, Any]:
        """The card to write: in the version in which it came, at least the second, or as ``spec``."""
        document = lifted(self.original) if self.original else blank()
        before = read_fields(document)
        for field, value in self.fields.items():
            if dump(before[field]) != dump(value):
                _write(document, field, value)
        self._lay_book(document["data"])
        return document if spec is None else as_version(document, spec)

    def _lay_book(self, data: dict[str, Any]) -> None:
        given = data.get("character_book")
        if self.book is None:
            # What was no book, and was never read as one, is left as it is.
            if isinstance(given, dict) and given:
                del data["character_book"]
            return
        read = lorebooks.read_card_book(given, lambda text: None) if given else None
        if read is None or dump(read.document) != dump(self.book):
            data["character_book"] = lorebooks.write(self.book, "card")


def _write(document: dict[str, Any], field: str, value: Any) -> None:
    """Under ``data``, and in the copies at the top where there are some."""
    document["data"][field] = value
    for name in ALIASES.get(field, (field,)):
        if name in document:
            document[name] = value
