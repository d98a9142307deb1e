"""Read and write lorebooks of several programs. All are converted to the form of card version 3. Without Django."""

from apps.chats.formats.lorebooks.entries import normalise_book, normalise_entry
from apps.chats.formats.lorebooks.reading import ParsedLorebook, read, read_card_book
from apps.chats.formats.lorebooks.writing import FORMATS, write

__all__ = ["FORMATS", "ParsedLorebook", "normalise_book", "normalise_entry", "read", "read_card_book", "write"]
