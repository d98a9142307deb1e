"""Unpack ZIP archives of chats, such as the exports of ChatGPT and Claude, one file at a time."""

import re
import tempfile
import zipfile
import zlib
from pathlib import PurePosixPath
from typing import IO, BinaryIO

from apps.common.stored_texts import gettext_stored
from apps.exchange.formats.parsed import UnreadableFile

SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")
# A high limit, since exports also hold the account's pictures.
MAX_FILES = 50_000

_CHUNK_BYTES = 2**20
_ENTRY_SIGNATURE = b"PK\x01\x02"  # the signature of an entry of the central directory
_CONVERSATIONS_PATTERN = re.compile(r"conversations([-_]\d+)?\.json", re.IGNORECASE)
_DAMAGE_ERRORS = (zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError)


class Archive:
    """An opened archive, from which at most `limit` bytes are unpacked. The sizes in the archive are not trusted.

    Raise UnreadableFile if the archive is damaged or holds more.
    """

    def __init__(self, file: BinaryIO, limit: int) -> None:
        self._remaining_bytes = limit
        # Counted before it is opened: `zipfile` creates an object for each entry, of which there may be millions.
        if _count(file, _ENTRY_SIGNATURE) > MAX_FILES:
            raise UnreadableFile(
                gettext_stored("There are more than %(max_files)s files in the archive.", max_files=MAX_FILES)
            )
        file.seek(0)
        try:
            self._archive = zipfile.ZipFile(file)
        except _DAMAGE_ERRORS:
            raise UnreadableFile(gettext_stored("The archive is damaged.")) from None

    def names(self) -> list[str]:
        """Return the names of the `conversations.json` files of an export, else of all JSON files."""
        names = self.all_names()
        exports = [name for name in names if _CONVERSATIONS_PATTERN.fullmatch(PurePosixPath(name).name)]
        return exports or [name for name in names if name.lower().endswith((".json", ".jsonl"))]

    def all_names(self) -> list[str]:
        """Return the names of all files, without what macOS adds."""
        return [name for name in self._archive.namelist() if not name.startswith("__MACOSX/")]

    def read(self, name: str, limit: int) -> bytes:
        """Return the content of a file of at most `limit` bytes. Raise UnreadableFile."""
        with self.unpack(name) as file:
            content = file.read(limit + 1)
        if len(content) > limit:
            raise UnreadableFile(gettext_stored("It is too large."))
        return content

    def is_card(self) -> bool:
        """Return whether the archive is a CHARX character card."""
        return "card.json" in self._archive.namelist()

    def unpack(self, name: str) -> IO[bytes]:
        """Unpack a file into a temporary one, which the caller must close. Raise UnreadableFile."""
        target = tempfile.TemporaryFile()  # noqa: SIM115 (the caller closes it)
        try:
            self._copy(name, target)
        except UnreadableFile:
            target.close()
            raise
        except _DAMAGE_ERRORS:
            target.close()
            raise UnreadableFile(gettext_stored("It can't be unpacked: it is damaged or encrypted.")) from None
        target.seek(0)
        return target

    def _copy(self, name: str, target: IO[bytes]) -> None:
        # `zipfile` limits how much it unpacks at once only for these two methods.
        if self._archive.getinfo(name).compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            raise UnreadableFile(gettext_stored("Its compression method is not supported."))
        with self._archive.open(name) as source:
            while chunk := source.read(_CHUNK_BYTES):
                self._remaining_bytes -= len(chunk)
                if self._remaining_bytes < 0:
                    raise ArchiveTooLarge
                target.write(chunk)


class ArchiveTooLarge(UnreadableFile):
    """The archive holds more bytes than may be unpacked."""

    def __init__(self) -> None:
        super().__init__("The archive holds more than may be unpacked.")


def _count(file: BinaryIO, signature: bytes) -> int:
    """Count the occurrences of `signature` in a file."""
    file.seek(0)
    count, tail = 0, b""
    while chunk := file.read(_CHUNK_BYTES):
        count += (tail + chunk).count(signature)
        tail = chunk[1 - len(signature) :]
    return count
