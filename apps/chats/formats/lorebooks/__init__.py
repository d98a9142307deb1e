"""Lorebooks of all programs, pure: read into one document like that of card version 3, and written again."""

from apps.chats.formats.lorebooks.entries import normalised_book, normalised_entry
from apps.chats.formats.lorebooks.reading import ParsedBook, read, read_card_book
from apps.chats.formats.lorebooks.writing import FORMATS, write

__all__ = ["FORMATS", "ParsedBook", "normalised_book", "normalised_entry", "read", "read_card_book", "write"]
