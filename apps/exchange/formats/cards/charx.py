"""Read CHARX files: ZIP archives with `card.json` and the card's assets, which may be appended to a picture."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Any

from apps.chats.images.pictures import MAX_PICTURE_BYTES
from apps.exchange.formats.cards.png_texts import MAX_TEXT_BYTES

MAX_FILES = 10_000


class BrokenArchive(ValueError):
    """The file is damaged or not a CHARX archive. The text of the exception is a message for the user."""


class Charx:
    """An opened archive. The sizes in the archive are not trusted: each file is unpacked up to a limit."""

    def __init__(self, content: bytes) -> None:
        # Counted before it is opened: `zipfile` creates an object for each entry, of which there may be millions.
        if content.count(b"PK\x01\x02") > MAX_FILES:
            raise BrokenArchive(f"There are more than {MAX_FILES} files in the archive.")
        try:
            # `zipfile` reads the directory at the end, so a picture before the archive is ignored.
            self._archive = zipfile.ZipFile(io.BytesIO(content))
        except (zipfile.BadZipFile, ValueError, NotImplementedError):  # the last for versions that it can't read
            raise BrokenArchive("It is not a CHARX archive, or it is damaged.") from None
        self.names = self._archive.namelist()

    def card(self) -> bytes:
        """Return the content of `card.json`. Raise BrokenArchive."""
        name = next((name for name in self.names if PurePosixPath(name).name.lower() == "card.json"), None)
        if name is None:
            raise BrokenArchive("There is no card.json in the archive.")
        return self._read(name, MAX_TEXT_BYTES)

    def icon(self, card: Mapping[str, Any]) -> bytes | None:
        """Return the card's picture: its main icon, else its first, or None. Raise BrokenArchive."""
        names = [name for name in map(self._member, _icon_uris(card)) if name]
        return self._read(names[0], MAX_PICTURE_BYTES) if names else None

    def _member(self, uri: str) -> str | None:
        """Return the name of the file that an asset's URI refers to, or None."""
        # "embeded" is the spelling of the specification; Risu writes `__asset:`.
        for scheme in ("embeded://", "embedded://", "__asset:"):
            if uri.startswith(scheme):
                path = uri.removeprefix(scheme)
                return path if path in self.names else None
        return None

    def _read(self, name: str, limit: int) -> bytes:
        # `zipfile` limits how much it unpacks at once only for these two methods.
        if self._archive.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise BrokenArchive("The archive's compression method is not supported.")
        try:
            with self._archive.open(name) as file:
                content = file.read(limit + 1)
        except (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError):
            raise BrokenArchive(f"{PurePosixPath(name).name[:80]} in the archive can't be unpacked.") from None
        if len(content) > limit:
            raise BrokenArchive(f"{PurePosixPath(name).name[:80]} in the archive is larger than {limit} bytes.")
        return content


def _icon_uris(card: Mapping[str, Any]) -> list[str]:
    """Return the URIs of the card's icons, the main one first."""
    data = card.get("data")
    assets = data.get("assets") if isinstance(data, dict) else None
    icons = [asset for asset in assets if isinstance(asset, dict)] if isinstance(assets, list) else []
    icons = [icon for icon in icons if icon.get("type") == "icon" and isinstance(icon.get("uri"), str)]
    return [icon["uri"] for icon in sorted(icons, key=lambda icon: icon.get("name") != "main")]
