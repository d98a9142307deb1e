"""ZIP archives with chats in them, such as the exports of ChatGPT and Claude; unpacked a file at a time."""

import re
import tempfile
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import IO, BinaryIO

from apps.chats.formats.parsed import UnreadableFile

SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
# Exports hold a person's pictures beside the chats.
MAX_FILES = 50_000

_CHUNK = 2**20
_ENTRY = b"PK\x01\x02"
_CONVERSATIONS = re.compile(r"conversations([-_]\d+)?\.json", re.IGNORECASE)
_DAMAGED = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError, NotImplementedError)


class Archive:
    """An opened archive. Whatever it says of its sizes, no more than `limit` bytes are unpacked of it.

    Raises UnreadableFile where it is damaged, or holds more than that.
    """

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._left = limit
        # Counted beforehand: the library would make an object of each of millions.
        if _count(file, _ENTRY) > MAX_FILES:
            raise UnreadableFile(f"There are more than {MAX_FILES} files in the archive.")
        file.seek(0)
        try:
            self._archive = zipfile.ZipFile(file)
        except _DAMAGED:
            raise UnreadableFile("The archive is damaged.") from None

    def names(self) -> list[str]:
        """The files to look into: those that exports call conversations, else all that may be JSON."""
        names = [name for name in self._archive.namelist() if not name.startswith("__MACOSX/")]
        exports = [name for name in names if _CONVERSATIONS.fullmatch(PurePosixPath(name).name)]
        return exports or [name for name in names if name.lower().endswith((".json", ".jsonl"))]

    def is_card(self) -> bool:
        return "card.json" in self._archive.namelist()

    def unpack(self, name: str) -> IO[bytes]:
        """A file of the archive as a temporary one; close it after use. Raises UnreadableFile."""
        target = tempfile.TemporaryFile()  # noqa: SIM115 (the caller closes it)
        try:
            self._copy(name, target)
        except UnreadableFile:
            target.close()
            raise
        except _DAMAGED:
            target.close()
            raise UnreadableFile("It can't be unpacked: it is damaged or encrypted.") from None
        target.seek(0)
        return target

    def _copy(self, name: str, target: IO[bytes]) -> None:
        # The library bounds what it unpacks at once of these two only.
        if self._archive.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UnreadableFile("It is packed in a way that is not read here.")
        with self._archive.open(name) as source:
            while chunk := source.read(_CHUNK):
                self._left -= len(chunk)
                if self._left < 0:
                    raise ArchiveTooLarge
                target.write(chunk)


class ArchiveTooLarge(UnreadableFile):
    """More is in the archive than is unpacked."""

    def __init__(self) -> None:
        super().__init__("The archive holds more than is unpacked at once.")


def _count(file: BinaryIO, mark: bytes) -> int:
    file.seek(0)
    count, tail = 0, b""
    while chunk := file.read(_CHUNK):
        count += (tail + chunk).count(mark)
        tail = chunk[1 - len(mark) :]
    return count
