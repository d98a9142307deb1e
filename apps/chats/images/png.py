"""Read and write PNG files chunk by chunk. Image data is never decoded or changed."""

import struct
import zlib
from collections.abc import Iterator
from dataclasses import dataclass

SIGNATURE = b"\x89PNG\r\n\x1a\n"
# The most pixels on a side, and in total. Browsers run out of memory with larger pictures.
MAX_SIDE = 16_384
MAX_PIXELS = 64_000_000


class BrokenPNG(ValueError):
    """The file is damaged or not a PNG. The text of the exception is a message for the user."""


@dataclass(frozen=True)
class Chunk:
    """A chunk of a PNG: its type, four letters, and its data."""

    type: bytes
    data: bytes

    def encode(self) -> bytes:
        """Return the chunk as bytes of a file: length, type, data, CRC-32 of type and data."""
        crc = zlib.crc32(self.data, zlib.crc32(self.type))
        return struct.pack(">I", len(self.data)) + self.type + self.data + struct.pack(">I", crc)


def is_png(content: bytes) -> bool:
    """Return whether `content` starts with the signature of PNG files."""
    return content.startswith(SIGNATURE)


def read_chunks(content: bytes) -> list[Chunk]:
    """Return all chunks up to IEND. Bytes that some programs append after it are dropped.

    Raise BrokenPNG if the file is cut off, a checksum is wrong, or the picture is too large.
    """
    if not is_png(content):
        raise BrokenPNG("It is not a PNG picture.")
    chunks = list(_chunks(content))
    _check_size(chunks[0] if chunks else None)
    if chunks[-1].type != b"IEND":
        raise BrokenPNG("The picture is cut off: its end is missing.")
    if not any(chunk.type == b"IDAT" for chunk in chunks):
        raise BrokenPNG("The picture is damaged: there is no image in it.")
    return chunks


def _chunks(content: bytes) -> Iterator[Chunk]:
    position = len(SIGNATURE)
    while position < len(content):
        length, kind = struct.unpack_from(">I4s", content, position) if position + 8 <= len(content) else (0, b"")
        end = position + 12 + length
        if end > len(content):
            raise BrokenPNG("The picture is cut off in the middle.")
        chunk = Chunk(kind, content[position + 8 : position + 8 + length])
        if content[end - 4 : end] != chunk.encode()[-4:]:
            name = kind.decode("ascii", "replace") if kind.isalpha() else "next"
            raise BrokenPNG(f"The picture is damaged: the checksum of its {name} chunk is wrong.")
        yield chunk
        if kind == b"IEND":
            return
        position = end


def _check_size(header: Chunk | None) -> None:
    if header is None or header.type != b"IHDR" or len(header.data) != 13:
        raise BrokenPNG("The picture is damaged: it has no header.")
    width, height = struct.unpack_from(">II", header.data)
    if not (0 < width <= MAX_SIDE and 0 < height <= MAX_SIDE and width * height <= MAX_PIXELS):
        raise BrokenPNG(
            f"The picture is {width} by {height} pixels; the limits are {MAX_SIDE} on a side and {MAX_PIXELS} in total."
        )


def encode_chunks(chunks: list[Chunk]) -> bytes:
    """Return a PNG file with `chunks`."""
    return SIGNATURE + b"".join(chunk.encode() for chunk in chunks)
