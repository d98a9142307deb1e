"""Read a JSON document of any size in order, holding one value in memory at a time.

A value that is broken or too large is skipped, and reading continues after it. Values are parsed by
`json_lines.loads`, with its repairs.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from apps.chats.repairs import Warn
from apps.common.stored_texts import gettext_stored
from apps.exchange.formats.json_lines import BrokenLine, loads

# The size of one value. The largest conversations in exports reach some ten megabytes.
MAX_VALUE_BYTES = 32 * 2**20

_CHUNK_BYTES = 2**18
_WHITESPACE = b" \t\r\n"
_STRING_PATTERN = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# A quote alone matches a string whose end has not been read from the file yet.
_TOKEN_PATTERN = re.compile(_STRING_PATTERN + rb'|[\[\]{}"]', re.DOTALL)
_SCALAR_END_PATTERN = re.compile(rb"[\s,:\]}\[{]")


class BrokenDocument(BrokenLine):
    """Reading can't continue: the document ends early, or is not valid JSON from here on."""


class JsonStream:
    """A position in a JSON document, before its next value. Reading a value advances it."""

    def __init__(self, file: BinaryIO) -> None:
        self.bytes_read = 0  # total size of the values returned so far
        self._file = file
        self._data = bytearray()
        self._position = 0
        self._value_pending = False  # an item or key was yielded whose value has not been read
        self._fill()
        if self._data.startswith(b"\xef\xbb\xbf"):
            self._position = 3

    def peek(self) -> bytes:
        """Return the next byte that is not whitespace, or empty bytes at the end of the file."""
        while True:
            while self._position < len(self._data) and self._data[self._position] in _WHITESPACE:
                self._position += 1
            if self._position < len(self._data):
                return bytes(self._data[self._position : self._position + 1])
            if not self._fill():
                return b""

    def value(self, warn: Warn, limit: int = MAX_VALUE_BYTES) -> Any:
        """Return the next value. Pass repairs to `warn`.

        Raise BrokenLine if the value can't be parsed or exceeds `limit` bytes (the position is then after it), and
        BrokenDocument if there is no further value.
        """
        return loads(self._read_raw(limit), warn)

    def skip(self) -> None:
        """Skip the next value, however large."""
        self._skip_value(0)

    def items(self) -> Iterator[int]:
        """Stop before each value of an array and yield its number, from 1. Values that are not read are skipped."""
        for number, _ in enumerate(self._walk(b"[", b"]"), 1):
            yield number

    def values(self) -> Iterator[int]:
        """Stop before each value up to the end of the file, as `items` does."""
        number = 0
        while self.peek():
            number += 1
            self._value_pending = True
            yield number
            if self._value_pending:
                self.skip()

    def members(self) -> Iterator[str]:
        """Stop before each value of an object and yield its key. Values that are not read are skipped."""
        for _ in self._walk(b"{", b"}"):
            self._value_pending = False
            if self.peek() != b'"':
                raise self._broken_document()
            key = self.value(lambda warning: None)  # keys are only compared, not stored: repairs need no warning
            self._expect(b":")
            self._value_pending = True
            yield key

    def _walk(self, start: bytes, end: bytes) -> Iterator[None]:
        self._expect(start)
        if self.peek() == end:
            self._position += 1
            return
        while True:
            self._value_pending = True
            yield
            if self._value_pending:
                self.skip()
            if self.peek() == end:
                self._position += 1
                return
            self._expect(b",")

    def _expect(self, delimiter: bytes) -> None:
        """Advance over `delimiter`. Raise BrokenDocument if something else comes next."""
        self._value_pending = False
        if self.peek() != delimiter:
            raise self._broken_document()
        self._position += 1

    def _broken_document(self) -> BrokenDocument:
        if not self.peek():
            return BrokenDocument(gettext_stored("The file ends too early."))
        return BrokenDocument(gettext_stored("The file is no longer valid JSON."))

    def _read_raw(self, limit: int) -> bytes:
        length = self._skip_value(limit)
        if length > limit:
            raise BrokenLine(gettext_stored("Larger than %(megabytes)s MB.", megabytes=f"{limit / 2**20:g}"))
        self.bytes_read += length
        return bytes(self._data[self._position - length : self._position])

    def _skip_value(self, keep: int) -> int:
        """Advance over the next value and return its length. Values longer than `keep` bytes are not buffered."""
        self._value_pending = False
        first = self.peek()
        if first in (b"", b",", b":", b"]", b"}"):
            raise self._broken_document()
        del self._data[: self._position]
        self._position = 0
        return self._skip_structure(keep) if first in b'"[{' else self._skip_scalar(keep)

    def _skip_scalar(self, keep: int) -> int:
        dropped = 0
        while not (end := _SCALAR_END_PATTERN.search(self._data, self._position)):
            self._position = len(self._data)
            dropped += self._drop(dropped, keep)
            if not self._fill():
                return dropped + self._position
        self._position = end.start()
        return dropped + self._position

    def _skip_structure(self, keep: int) -> int:
        depth = dropped = 0
        while True:
            token = _TOKEN_PATTERN.search(self._data, self._position)
            text = token.group() if token else b""
            if token is None or text == b'"':
                self._position = token.start() if token else len(self._data)
                dropped += self._drop(dropped, keep)
                if not self._fill():
                    raise BrokenDocument(gettext_stored("The file ends too early."))
                continue
            self._position = token.end()
            depth += 1 if text in (b"[", b"{") else -1 if text in (b"]", b"}") else 0
            if depth <= 0:
                return dropped + self._position

    def _drop(self, dropped: int, keep: int) -> int:
        """Remove the scanned part of a value longer than `keep` from the buffer. Return its length."""
        if dropped + self._position <= keep:
            return 0
        scanned = self._position
        del self._data[:scanned]
        self._position = 0
        return scanned

    def _fill(self) -> bool:
        # Double the buffer: an unfinished string is scanned again from its start after each read.
        chunk = self._file.read(max(_CHUNK_BYTES, len(self._data) - self._position))
        self._data += chunk
        return bool(chunk)


def array_at(stream: JsonStream, path: Sequence[str]) -> Iterator[int]:
    """Stop before each value of the array under the keys of `path`, as `JsonStream.items` does."""
    if not path:
        if stream.peek() == b"[":
            yield from stream.items()
    elif stream.peek() == b"{":
        for key in stream.members():
            if key == path[0]:
                yield from array_at(stream, path[1:])
