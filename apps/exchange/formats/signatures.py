"""Name what a file without text is, by its first bytes."""

from collections.abc import Mapping

_KINDS: Mapping[bytes, str] = {
    b"\x89PNG": "a PNG image",
    b"\xff\xd8\xff": "a JPEG image",
    b"GIF8": "a GIF image",
    b"RIFF": "a media file",
    b"PK\x03\x04": "a ZIP archive",
    b"PK\x05\x06": "a ZIP archive",
    b"\x1f\x8b": "a gzip archive",
    b"%PDF": "a PDF document",
    b"SQLite format 3": "a database",
    b"\xff\xfe": "text in UTF-16; save it as UTF-8",
    b"\xfe\xff": "text in UTF-16; save it as UTF-8",
}


def binary_kind(start: bytes) -> str | None:
    """Return what a file that starts with these bytes is, or None if it may be text. Twelve bytes are enough."""
    # RIFF is a container: the kind of its content follows the size.
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return "a WebP image"
    return next((kind for magic, kind in _KINDS.items() if start.startswith(magic)), None)
