"""Read and write lorebooks of several programs. All are converted to the form of card version 3. Without Django."""

from apps.exchange.formats.lorebooks.books import FORMATS, read, read_card_book, write

__all__ = ["FORMATS", "read", "read_card_book", "write"]
