"""Any chat file: told by its content, never by its name, and read a chat at a time."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from apps.chats.formats.archives import SIGNATURES, Archive, ArchiveTooLarge
from apps.chats.formats.foreign import title_of
from apps.chats.formats.parsed import ParsedChat, Report, UnreadableFile
from apps.chats.formats.recognition import CARD, LOREBOOK, recognise

MAX_UNPACKED_BYTES = 2**30

_PNG = b"\x89PNG"
_CARD_MARKS = (b"chara\0", b"ccv3\0")
_PICTURE_BYTES = 32 * 2**20


@dataclass
class ParsedFile(Iterator[ParsedChat]):
    """The chats of a file, as they are asked for.

    Use up the messages of one before you ask for the next. `report` is of the file itself: it says which
    conversations were left out as a whole, and is complete when the chats are used up; each chat has its own.
    """

    report: Report
    _chats: Iterator[ParsedChat] = field(repr=False)

    def __next__(self) -> ParsedChat:
        return next(self._chats)


def parse_file(file: BinaryIO, *, max_unpacked: int = MAX_UNPACKED_BYTES) -> ParsedFile:
    """The chats in `file`, which can be rewound, and is read until the last message was asked for.

    Of an archive, up to `max_unpacked` bytes are unpacked. Raises UnreadableFile, with the reason in words for
    a person, when there is no chat in it, and while the chats are asked for, where an archive is a bomb.
    """
    file.seek(0)
    start = file.read(4)
    if start == _PNG:
        raise UnreadableFile(_what_picture(file))
    parsed = _archive(file, max_unpacked) if start in SIGNATURES else _document(file)
    first = next(parsed, None)
    if first is None:
        raise UnreadableFile(_nothing_in(parsed.report))
    return ParsedFile(parsed.report, chain([first], parsed))


def is_card(file: BinaryIO) -> bool:
    """Whether a file that can be rewound is a card, a lorebook or a picture, which are no chats: by a glance at it."""
    file.seek(0)
    start = file.read(4)
    try:
        if start in SIGNATURES:
            return Archive(file, limit=0).is_card()
        if start != _PNG:
            recognise(file)
        return start == _PNG
    except UnreadableFile as error:
        return error.reason in (CARD, LOREBOOK)
    finally:
        file.seek(0)


def is_archive(file: BinaryIO) -> bool:
    """Whether a file that can be rewound is packed, and may hold far more than its size says."""
    file.seek(0)
    start = file.read(4)
    file.seek(0)
    return start in SIGNATURES


def _document(file: BinaryIO) -> ParsedFile:
    found = recognise(file)
    report = Report(found.name, unit="conversation")
    return ParsedFile(report, found.read(file, report))


def _archive(file: BinaryIO, limit: int) -> ParsedFile:
    archive = Archive(file, limit)
    if archive.is_card():
        raise UnreadableFile(CARD)
    report = Report("zip", unit="file")
    return ParsedFile(report, _chats_of_archive(archive, report))


def _chats_of_archive(archive: Archive, report: Report) -> Iterator[ParsedChat]:
    for number, name in enumerate(archive.names(), 1):
        try:
            with archive.unpack(name) as unpacked:
                parsed = _document(cast(BinaryIO, unpacked))
                report.format = parsed.report.format
                for chat in parsed:
                    yield replace(chat, title=chat.title or title_of(PurePosixPath(name).stem))
                report.include(parsed.report)
        except ArchiveTooLarge:
            raise
        except UnreadableFile as error:
            report.skip(number, f"{PurePosixPath(name).name}: {error.reason}")


def _nothing_in(report: Report) -> str:
    if not report.skipped_lines:
        return "There is no chat in the file."
    return f"There is no chat in the file. {report.skipped_lines[0]['reason']}"


def _what_picture(file: BinaryIO) -> str:
    """A card is a picture with a text in it, which has one of these keywords."""
    content = file.read(_PICTURE_BYTES)
    is_card = any(mark in content for mark in _CARD_MARKS)
    return CARD if is_card else "It is a PNG image, and no chat."
