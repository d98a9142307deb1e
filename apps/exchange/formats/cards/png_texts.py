"""Read and write the texts in PNG files, where cards are kept."""

import zlib

from apps.chats.images.png import BrokenPNG, Chunk

# The decompressed size of one text. Cards with many assets reach a few megabytes.
MAX_TEXT_BYTES = 16 * 2**20
TEXT_TYPES = {b"tEXt", b"zTXt", b"iTXt"}


def keyword_of(chunk: Chunk) -> str:
    """Return a text chunk's keyword in lower case, or an empty string for other chunks."""
    if chunk.type not in TEXT_TYPES:
        return ""
    return chunk.data.split(b"\0", 1)[0].decode("latin-1").lower()


def text_of(chunk: Chunk) -> bytes:
    """Return the decompressed text of a tEXt, zTXt or iTXt chunk. Raise BrokenPNG if it is damaged or too large."""
    _, separator, rest = chunk.data.partition(b"\0")
    if not separator:
        raise BrokenPNG("A text in the picture has no keyword.")
    if chunk.type == b"tEXt":
        return _checked_size(rest)
    if chunk.type == b"zTXt":
        return _decompress(rest[:1], rest[1:])
    # iTXt: compression flag, method, language\0, translated keyword\0, text.
    is_compressed, method, fields = rest[:1], rest[1:2], rest[2:].split(b"\0", 2)
    if len(fields) != 3:
        raise BrokenPNG("A text in the picture is damaged.")
    return _decompress(method, fields[2]) if is_compressed == b"\1" else _checked_size(fields[2])


def _checked_size(text: bytes) -> bytes:
    if len(text) > MAX_TEXT_BYTES:
        raise BrokenPNG(f"A text in the picture is larger than {MAX_TEXT_BYTES} bytes.")
    return text


def _decompress(method: bytes, compressed: bytes) -> bytes:
    if method != b"\0":
        raise BrokenPNG("A text in the picture has an unknown compression method.")
    inflater = zlib.decompressobj()
    try:
        text = inflater.decompress(compressed, MAX_TEXT_BYTES + 1)
    except zlib.error:
        raise BrokenPNG("A compressed text in the picture is damaged.") from None
    if len(text) <= MAX_TEXT_BYTES and not inflater.eof:
        raise BrokenPNG("A compressed text in the picture is cut off.")
    return _checked_size(text)


def text_chunk(keyword: str, text: bytes) -> Chunk:
    """Return a tEXt chunk. `text` must be Latin-1, such as base64."""
    return Chunk(b"tEXt", keyword.encode("latin-1") + b"\0" + text)
