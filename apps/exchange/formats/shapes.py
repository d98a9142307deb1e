"""The shape of a JSON document: its keys, and what is in them, read in one pass that holds one value in memory."""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field

from apps.exchange.formats.documents import MAX_FIELDS_BYTES
from apps.exchange.formats.json_lines import BrokenLine
from apps.exchange.formats.json_stream import BrokenDocument, JsonStream

OBJECT, ARRAY, TEXT, OTHER = "object", "array", "text", "other"
_KINDS = {b"{": OBJECT, b"[": ARRAY, b'"': TEXT}
# Keys of an inner object, and objects of an inner array, that are looked at: the first ones tell what they are.
_MAX_INNER = 50


@dataclass
class Shape:
    """An object: its keys with the kind of each value, its texts, and the keys one level below.

    `inner` has, for each value that is an object, its keys, and for each that is an array, those of its first objects.
    """

    kinds: dict[str, str] = field(default_factory=dict)
    texts: dict[str, str] = field(default_factory=dict)
    inner: dict[str, set[str]] = field(default_factory=dict)

    def has(self, *keys: str) -> bool:
        """Return whether the object has all of `keys`."""
        return all(key in self.kinds for key in keys)

    def has_any(self, *keys: str) -> bool:
        """Return whether the object has one of `keys`."""
        return any(key in self.kinds for key in keys)

    def holds(self, key: str, *inner: str) -> bool:
        """Return whether the value under `key`, or an object in it, has all of the keys `inner`."""
        return set(inner) <= self.inner.get(key, set())

    def holds_any(self, key: str, *inner: str) -> bool:
        """Return whether the value under `key`, or an object in it, has one of the keys `inner`."""
        return not self.inner.get(key, set()).isdisjoint(inner)

    def is_kind(self, key: str, *kinds: str) -> bool:
        """Return whether the value under `key` is of one of `kinds`."""
        return self.kinds.get(key) in kinds


def read_shape(stream: JsonStream) -> Shape:
    """Return the shape of the object that comes next. Of a damaged one, as far as it can be read."""
    shape = Shape()
    with suppress(BrokenLine):
        for key in stream.members():
            kind = shape.kinds[key] = _KINDS.get(stream.peek(), OTHER)
            if kind == TEXT:
                shape.texts[key] = _read_text(stream)
            elif kind == OBJECT:
                shape.inner[key] = set()
                _read_keys(stream, shape.inner[key])
            elif kind == ARRAY:
                shape.inner[key] = set()
                for number in stream.items():
                    if number <= _MAX_INNER and stream.peek() == b"{":
                        _read_keys(stream, shape.inner[key])
    return shape


def shapes_in_array(stream: JsonStream) -> Iterator[Shape | str]:
    """Yield the shape of each object in the array that comes next, and each text."""
    for _ in stream.items():
        if stream.peek() == b'"':
            yield _read_text(stream)
        elif stream.peek() == b"{":
            yield read_shape(stream)


def _read_keys(stream: JsonStream, keys: set[str]) -> None:
    for key in stream.members():
        if len(keys) < _MAX_INNER:
            keys.add(key)


def _read_text(stream: JsonStream) -> str:
    """Return the text that comes next, or an empty one if it is damaged or too large."""
    try:
        return str(stream.value(lambda _: None, MAX_FIELDS_BYTES))
    except BrokenDocument:
        raise
    except BrokenLine:
        return ""
