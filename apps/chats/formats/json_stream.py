"""Walks through a JSON document of any size, holding one value of it at a time.

The reader asks for what it wants, in the order in which the document has it. A value that is broken, or too
large, costs only itself: the walk goes on behind it. Values are read by `json_lines.loads`, with its repairs.
"""

import re
from collections.abc import Iterator, Sequence
from typing import Any, BinaryIO

from apps.chats.formats.json_lines import BrokenLine, Warn, loads

# Of one value, in bytes: the largest conversations of exports reach some ten megabytes.
MAX_VALUE_BYTES = 32 * 2**20

_CHUNK = 2**18
_BLANK = b" \t\r\n"
_STRING = rb'"[^"\\]*+(?:\\.[^"\\]*+)*+"'
# A lone quote stands for a string whose end is not there yet.
_MARK = re.compile(_STRING + rb'|[\[\]{}"]', re.DOTALL)
_SCALAR_END = re.compile(rb"[\s,:\]}\[{]")


def _ignore(_: str) -> None:
    """Of a key: it is only compared."""


class BrokenDocument(BrokenLine):
    """The walk can't go on: the document ends early, or isn't JSON from here on."""


class JsonStream:
    """A place in a JSON document, before its next value. Whatever is asked for is used up by that."""

    def __init__(self, file: BinaryIO) -> None:
        self.taken = 0  # bytes, of all values that were read
        self._file = file
        self._data = bytearray()
        self._at = 0
        self._untouched = False
        self._fill()
        if self._data.startswith(b"\xef\xbb\xbf"):
            self._at = 3

    def peek(self) -> bytes:
        """The first byte of what comes next; empty at the end of the file."""
        while True:
            while self._at < len(self._data) and self._data[self._at] in _BLANK:
                self._at += 1
            if self._at < len(self._data):
                return bytes(self._data[self._at : self._at + 1])
            if not self._fill():
                return b""

    def value(self, warn: Warn, limit: int = MAX_VALUE_BYTES) -> Any:
        """The next value, whatever it is; what was repaired in it is said to `warn`.

        Raises BrokenLine when it can't be used, and is behind it then; BrokenDocument when there is no more.
        """
        return loads(self._raw(limit), warn)

    def skip(self) -> None:
        """Pass over the next value, however large."""
        self._span(0)

    def items(self) -> Iterator[int]:
        """Stops before each value of an array, with its number, from 1; one that isn't asked for is skipped."""
        for number, _ in enumerate(self._walk(b"[", b"]"), 1):
            yield number

    def members(self) -> Iterator[str]:
        """Stops before each value of an object, with its key; one that isn't asked for is skipped."""
        for _ in self._walk(b"{", b"}"):
            self._untouched = False
            if self.peek() != b'"':
                raise self._broken()
            key = self.value(_ignore)
            self._expect(b":")
            self._untouched = True
            yield key

    def _walk(self, start: bytes, end: bytes) -> Iterator[None]:
        self._expect(start)
        if self.peek() == end:
            self._at += 1
            return
        while True:
            self._untouched = True
            yield
            if self._untouched:
                self.skip()
            if self.peek() == end:
                self._at += 1
                return
            self._expect(b",")

    def _expect(self, mark: bytes) -> None:
        self._untouched = False
        if self.peek() != mark:
            raise self._broken()
        self._at += 1

    def _broken(self) -> BrokenDocument:
        if not self.peek():
            return BrokenDocument("The file ends too early.")
        return BrokenDocument("The file is no longer valid JSON.")

    def _raw(self, limit: int) -> bytes:
        length = self._span(limit)
        if length > limit:
            raise BrokenLine(f"Larger than {limit / 2**20:g} MB.")
        self.taken += length
        return bytes(self._data[self._at - length : self._at])

    def _span(self, keep: int) -> int:
        """Go behind the next value, and say how long it is. Only of a longer one than `keep` bytes is some dropped."""
        self._untouched = False
        first = self.peek()
        if first in (b"", b",", b":", b"]", b"}"):
            raise self._broken()
        del self._data[: self._at]
        self._at = 0
        return self._behind_structure(keep) if first in b'"[{' else self._behind_scalar(keep)

    def _behind_scalar(self, keep: int) -> int:
        dropped = 0
        while not (end := _SCALAR_END.search(self._data, self._at)):
            self._at = len(self._data)
            dropped += self._drop(dropped, keep)
            if not self._fill():
                return dropped + self._at
        self._at = end.start()
        return dropped + self._at

    def _behind_structure(self, keep: int) -> int:
        depth = dropped = 0
        while True:
            mark = _MARK.search(self._data, self._at)
            text = mark.group() if mark else b""
            if mark is None or text == b'"':
                self._at = mark.start() if mark else len(self._data)
                dropped += self._drop(dropped, keep)
                if not self._fill():
                    raise BrokenDocument("The file ends too early.")
                continue
            self._at = mark.end()
            depth += 1 if text in (b"[", b"{") else -1 if text in (b"]", b"}") else 0
            if depth <= 0:
                return dropped + self._at

    def _drop(self, dropped: int, keep: int) -> int:
        """Forget what was passed of a value that is too long to be kept; how much that was."""
        if dropped + self._at <= keep:
            return 0
        passed = self._at
        del self._data[:passed]
        self._at = 0
        return passed

    def _fill(self) -> bool:
        # As much again as there is, so that a long string isn't looked through too often.
        chunk = self._file.read(max(_CHUNK, len(self._data) - self._at))
        self._data += chunk
        return bool(chunk)


def array_at(stream: JsonStream, path: Sequence[str]) -> Iterator[int]:
    """Stops before each value of the arrays under the keys of `path`, as `JsonStream.items` does."""
    if not path:
        if stream.peek() == b"[":
            yield from stream.items()
    elif stream.peek() == b"{":
        for key in stream.members():
            if key == path[0]:
                yield from array_at(stream, path[1:])
