"""CHARX: a ZIP with ``card.json`` and the card's assets, perhaps behind a picture that hides it."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from apps.chats.formats.cards.pictures import MAX_PICTURE_BYTES
from apps.chats.formats.cards.png import MAX_TEXT_BYTES

MAX_FILES = 10_000


class BrokenArchive(ValueError):
    """No CHARX, or a damaged one; its text is the reason, in words for a person."""


class Charx:
    """An opened archive. Nothing is unpacked beyond its limit, whatever the archive says of its sizes."""

    def __init__(self, content: bytes) -> None:
        # Counted beforehand: the library would make an object of each of millions.
        if content.count(b"PK\x01\x02") > MAX_FILES:
            raise BrokenArchive(f"There are more than {MAX_FILES} files in the archive.")
        try:
            # Reads the directory at the end, so that what stands before the archive does not matter.
            self._archive = zipfile.ZipFile(io.BytesIO(content))
        except (zipfile.BadZipFile, ValueError, NotImplementedError):
            raise BrokenArchive("It is no CHARX archive, or a damaged one.") from None
        self.names = self._archive.namelist()

    def card(self) -> bytes:
        name = next((name for name in self.names if PurePosixPath(name).name.lower() == "card.json"), None)
        if name is None:
            raise BrokenArchive("There is no card.json in the archive.")
        return self._read(name, MAX_TEXT_BYTES)

    def icon(self, card: Mapping[str, Any]) -> bytes | None:
        """The card's picture: its main icon, else its first; None where the archive holds none."""
        names = [name for name in map(self._member, _icons(card)) if name]
        return self._read(names[0], MAX_PICTURE_BYTES) if names else None

    def _member(self, uri: str) -> str | None:
        for scheme in ("embeded://", "embedded://", "__asset:"):  # [sic], as the specification has it
            if uri.startswith(scheme):
                path = uri.removeprefix(scheme)
                return path if path in self.names else None
        return None

    def _read(self, name: str, limit: int) -> bytes:
        # The library bounds what it unpacks of these two only.
        if self._archive.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BrokenArchive("The archive is packed in a way that is not read here.")
        try:
            with self._archive.open(name) as file:
                content = file.read(limit + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError):
            raise BrokenArchive(f"{PurePosixPath(name).name[:80]} in the archive can't be unpacked.") from None
        if len(content) > limit:
            raise BrokenArchive(f"{PurePosixPath(name).name[:80]} in the archive is larger than {limit} bytes.")
        return content


def _icons(card: Mapping[str, Any]) -> list[str]:
    """The addresses of the card's icons, the main one first."""
    data = card.get("data")
    assets = data.get("assets") if isinstance(data, dict) else None
    icons = [asset for asset in assets if isinstance(asset, dict)] if isinstance(assets, list) else []
    icons = [icon for icon in icons if icon.get("type") == "icon" and isinstance(icon.get("uri"), str)]
    return [icon["uri"] for icon in sorted(icons, key=lambda icon: icon.get("name") != "main")]
