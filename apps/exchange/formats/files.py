"""Parse any chat file one chat at a time. The format is detected by the content, not by the name."""

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from itertools import chain
from pathlib import PurePosixPath
from typing import BinaryIO, cast

from apps.common.stored_texts import gettext_stored, joined_texts, msgid_of
from apps.exchange.formats.archives import SIGNATURES, Archive, ArchiveTooLarge
from apps.exchange.formats.conversion import title_of
from apps.exchange.formats.parsed import ImportReport, ParsedChat, ParsedGroup, UnknownFormat, UnreadableFile
from apps.exchange.formats.recognition import CARD_REASON, LOREBOOK_REASON, detect_format, supported_formats
from apps.exchange.formats.sillytavern_groups import CHATS_FOLDER, is_group_file, read_groups

MAX_UNPACKED_BYTES = 2**30

_PNG = b"\x89PNG"
_CARD_KEYWORDS = (b"chara\0", b"ccv3\0")
_MAX_PICTURE_BYTES = 32 * 2**20


@dataclass
class ParsedFile(Iterator[ParsedChat]):
    """Iterator over the chats of a file.

    Consume the messages of a chat before taking the next one. `report` lists the conversations that were skipped as a
    whole, and is complete after the last chat; each chat has its own report on its messages.
    """

    report: ImportReport
    _chats: Iterator[ParsedChat] = field(repr=False)

    def __next__(self) -> ParsedChat:
        return next(self._chats)


def parse_file(file: BinaryIO, *, max_unpacked: int = MAX_UNPACKED_BYTES) -> ParsedFile:
    """Return the chats in a seekable file, which must stay open until their messages are consumed.

    At most `max_unpacked` bytes of an archive are unpacked. Raise UnreadableFile if the file holds no chat; iterating
    raises it too if an archive turns out to be larger than that.
    """
    file.seek(0)
    start = file.read(4)
    if start == _PNG:
        raise UnreadableFile(_reason_not_chat(file))
    try:
        parsed = _parse_archive(file, max_unpacked) if start in SIGNATURES else _parse_document(file)
        first = next(parsed, None)
    except UnknownFormat as error:
        raise UnknownFormat(joined_texts(error.reason, supported_formats())) from None
    if first is None:
        reasons = [line["reason"] for line in parsed.report.skipped_lines[:1]]
        hints = [supported_formats()] if start in SIGNATURES else []  # the format of a document is known by now
        raise UnreadableFile(joined_texts(gettext_stored("There is no chat in the file."), *reasons, *hints))
    return ParsedFile(parsed.report, chain([first], parsed))


def is_card(file: BinaryIO) -> bool:
    """Return whether a seekable file is a card, a lorebook or a picture. Only its first value is read."""
    file.seek(0)
    start = file.read(4)
    try:
        if start in SIGNATURES:
            return Archive(file, limit=0).is_card()
        if start != _PNG:
            detect_format(file)
        return start == _PNG
    except UnreadableFile as error:
        return msgid_of(error.reason) in (CARD_REASON, LOREBOOK_REASON)
    finally:
        file.seek(0)


def is_archive(file: BinaryIO) -> bool:
    """Return whether a seekable file is a ZIP archive, which may hold far more than its size."""
    file.seek(0)
    start = file.read(4)
    file.seek(0)
    return start in SIGNATURES


def _parse_document(file: BinaryIO) -> ParsedFile:
    detected = detect_format(file)
    report = ImportReport(detected.name, unit="conversation")
    return ParsedFile(report, detected.read(file, report))


def _parse_archive(file: BinaryIO, limit: int) -> ParsedFile:
    archive = Archive(file, limit)
    if archive.is_card():
        raise UnreadableFile(gettext_stored(CARD_REASON))
    report = ImportReport("zip", unit="file")
    return ParsedFile(report, _chats_of_archive(archive, report))


def _chats_of_archive(archive: Archive, report: ImportReport) -> Iterator[ParsedChat]:
    groups = read_groups(archive)
    for number, name in enumerate(archive.names(), 1):
        if groups and is_group_file(name):
            continue
        path = PurePosixPath(name)
        group = groups.get(path.stem) if path.parent.name == CHATS_FOLDER else None
        try:
            with archive.unpack(name) as unpacked:
                parsed = _parse_document(cast(BinaryIO, unpacked))
                report.format = parsed.report.format
                for chat in parsed:
                    yield _named(chat, path, group)
                report.include(parsed.report)
        except ArchiveTooLarge:
            raise
        except UnreadableFile as error:
            report.skip(number, joined_texts(f"{path.name}:", error.reason))


def _named(chat: ParsedChat, path: PurePosixPath, group: ParsedGroup | None) -> ParsedChat:
    """Return a chat of an archive with the title of its group, or of its file if it has none, and its group."""
    title = chat.title or (group.name if group else "") or title_of(path.stem)
    return replace(chat, title=title, group=group)


def _reason_not_chat(file: BinaryIO) -> str:
    """Return why a PNG is not a chat. A card is a PNG with a text chunk of one of the known keywords."""
    content = file.read(_MAX_PICTURE_BYTES)
    is_card = any(keyword in content for keyword in _CARD_KEYWORDS)
    return gettext_stored(CARD_REASON) if is_card else gettext_stored("It is a PNG image, not a chat.")
