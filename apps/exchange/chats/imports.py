"""Import the chats of a file: all of them or none, in batches."""

import os
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import BinaryIO
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.locking import record_change
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.models import Character, Chat, ChatChange, ImportJob, Persona
from apps.chats.operations import find_or_create_character, store_messages
from apps.chats.operations.chats import insert_chat
from apps.chats.operations.participants import Member, insert_participants, said_by
from apps.common.problems import Invalid, TooLarge
from apps.common.scoping import OWN_NAMESPACE, Owner, owner_id_of
from apps.common.stored_texts import gettext_stored
from apps.exchange.chats.branches import store_branches
from apps.exchange.chats.carried import CarriedData
from apps.exchange.chats.carried_lorebooks import import_lorebooks
from apps.exchange.chats.repeats import Match, find_original, match_of, update_original
from apps.exchange.filenames import title_from_filename
from apps.exchange.formats.files import ParsedFile, parse_file
from apps.exchange.formats.parsed import ImportReport, ParsedChat, ParsedGroup, UnreadableFile
from apps.exchange.memories.imported_chats import read_documents

# Speakers of a chat who become participants, or name its character. Messages of further speakers are stored too.
MAX_SPEAKERS = 50

# Called with the number of messages stored so far. It may raise to abort the import.
ProgressCallback = Callable[[int], None]


class AlreadyImported(Exception):
    """Chats of a file are stored already, as ``matches``, and the import was to ask. Nothing was stored."""

    def __init__(self, matches: list[Match]) -> None:
        super().__init__(matches)
        self.matches = matches


@dataclass(frozen=True)
class ImportResult:
    """The chats created from a file or updated, and the report of the parser. ``updated`` are ids of chats."""

    chats: list[Chat]
    report: ImportReport
    updated: list[UUID] = field(default_factory=list)


@dataclass
class SpeakerCollector:
    """Speakers of a chat and the time of its last message, collected while its messages are stored."""

    before: int  # messages in earlier chats of the file
    user: str = ""  # the last one: a person may change the persona in the middle of a chat
    others: Counter[str] = field(default_factory=Counter)
    last_sent: datetime | None = None

    def collect(self, messages: Iterator[ParsedMessage], on_progress: ProgressCallback) -> Iterator[ParsedMessage]:
        """Yield the same messages. After each, call ``on_progress`` with their number in the file."""
        for number, message in enumerate(messages, start=self.before + 1):
            if message.name and not message.is_system:
                self._add_speaker(message)
            if message.sent_at and (self.last_sent is None or message.sent_at > self.last_sent):
                self.last_sent = message.sent_at
            yield message
            on_progress(number)

    def _add_speaker(self, message: ParsedMessage) -> None:
        if message.is_user:
            self.user = message.name
        elif message.name in self.others or len(self.others) < MAX_SPEAKERS:
            self.others[message.name] += 1


@dataclass(frozen=True)
class _Request:
    """What is to become of the chats of a file. ``fallback`` is the title of a chat that has none."""

    owner: Owner
    fallback: str
    title: str
    character: Character | None
    existing: str
    job: ImportJob | None = None
    on_progress: ProgressCallback = lambda messages: None


def import_chats(
    owner: Owner,
    file: BinaryIO,
    *,
    filename: str,
    title: str = "",
    character: Character | None = None,
    existing: str = ImportJob.Existing.COPY,
) -> ImportResult:
    """Store the chats in ``file``, a seekable binary file, as new chats of ``owner``: all or none.

    ``existing``, an ``ImportJob.Existing``, says what becomes of a chat that is stored already (see ``repeats``): a
    copy, an update of the stored chat, or AlreadyImported is raised.

    The title defaults to the one in the file, then to its name. The character defaults to the one that the file
    names, then to the only speaker other than the user; with several speakers the chat becomes a group chat.
    Raise Invalid if the file holds no chat, TooLarge beyond IMPORT_MAX_BYTES.
    """
    return _import(file, _Request(owner, _fallback(filename), title, character, existing))


def import_for_job(
    job: ImportJob, file: BinaryIO, on_progress: ProgressCallback = lambda messages: None
) -> ImportResult:
    """Store the chats in the file of a job, as ``import_chats`` does.

    ``on_progress`` is called with the number of messages so far, and may raise to abort.
    """
    request = _Request(job.owner_id, _fallback(job.filename), job.title, job.character, job.existing, job, on_progress)
    return _import(file, request)


def _fallback(filename: str) -> str:
    return title_from_filename(filename) or "Imported chat"


def _import(file: BinaryIO, request: _Request) -> ImportResult:
    """Store the chats of a file. Raise AlreadyImported, Invalid, TooLarge."""
    _check_size(file)
    try:
        with transaction.atomic():
            return _import_parsed(parse_file(file), request)
    except UnreadableFile as error:
        raise Invalid.at("/file", error.reason) from None


def _import_parsed(parsed: ParsedFile, request: _Request) -> ImportResult:
    result = ImportResult([], ImportReport(parsed.report.format))
    matches: list[Match] = []
    chats, report = result.chats, result.report
    for parsed_chat in parsed:
        chat = _store(parsed_chat, request, before=report.messages)
        ids = [chat.pk for chat in chats]
        original = None if request.existing == ImportJob.Existing.COPY else find_original(chat, excluded=ids)
        if original is None:
            # Without message ids: the change is the whole chat, which may have tens of thousands of messages.
            read_documents(chat, chat.metadata, parsed_chat.report)
            record_change(chat, ChatChange.Kind.IMPORT)
        elif request.existing == ImportJob.Existing.ASK:
            matches.append(match_of(original, chat))
        else:
            metadata, chat = chat.metadata, update_original(original, chat)
            read_documents(chat, metadata, parsed_chat.report)
            result.updated.append(chat.pk)
        chats.append(chat)
        if not matches:
            branches, updated = store_branches(chat, parsed_chat.branches, is_update=original is not None)
            chats += branches
            result.updated.extend(updated)
        report.messages += parsed_chat.report.messages
        report.include(parsed_chat.report)
    report.include(parsed.report)
    if matches:
        raise AlreadyImported(matches)
    _order_by_activity(chats, request.job)
    return result


def _order_by_activity(chats: list[Chat], job: ImportJob | None) -> None:
    """Set the ``last_used`` of imported chats to now, in the order of their activity: a list is sorted by it.

    Set also their job, which updated ones don't name yet.
    """
    now = timezone.now()
    for position, chat in enumerate(sorted(chats, key=lambda chat: chat.last_active, reverse=True)):
        chat.last_used, chat.import_job = now - timedelta(microseconds=position), job
    Chat.objects.for_owner(chats[0].owner_id).bulk_update(chats, ["last_used", "import_job"], batch_size=1000)


def _check_size(file: BinaryIO) -> None:
    file.seek(0, os.SEEK_END)
    size = file.tell()
    file.seek(0)
    if size > settings.IMPORT_MAX_BYTES:
        raise TooLarge(
            gettext_stored(
                "The file is larger than %(import_max_bytes)s bytes.", import_max_bytes=settings.IMPORT_MAX_BYTES
            )
        )


def _store(parsed: ParsedChat, request: _Request, *, before: int) -> Chat:
    """Store a chat and its messages; the caller has to record the change.

    ``before`` is the number of messages in earlier chats of the file.
    """
    header, character = parsed.header, request.character
    owner_id = owner_id_of(request.owner)
    chat = insert_chat(
        owner_id,
        namespace=character.namespace if character else OWN_NAMESPACE,
        title=(request.title or parsed.title or request.fallback)[:MAX_NAME_LENGTH],
        metadata=header.metadata,
        header_layout=header.layout,
        import_job=request.job,
    )
    speakers = SpeakerCollector(before)
    carried = CarriedData(parsed.report)
    for batch in store_messages(chat, speakers.collect(carried.take(parsed.messages), request.on_progress)):
        carried.restore(chat, batch)
    chat.user_name = header.user_name or speakers.user
    chat.persona = Persona.objects.for_owner(owner_id).filter(name=chat.user_name).order_by("pk").first()
    character_name = header.character_name or _single_name(speakers.others)
    if parsed.group and not character:
        _make_group(chat, speakers, parsed.group)
    elif character or character_name:
        chat.character = character or find_or_create_character(owner_id, character_name)
    elif len(speakers.others) > 1:
        _make_group(chat, speakers)
    chat.last_active = min(speakers.last_sent or timezone.now(), timezone.now())
    chat.save(update_fields=["user_name", "persona", "character", "is_group", "message_count", "last_active"])
    import_lorebooks(chat, header.lorebooks, parsed.report)
    return chat


def _single_name(names: Collection[str]) -> str:
    """Return the only name, or an empty string if there are none or several."""
    return next(iter(names)) if len(names) == 1 else ""


def _make_group(chat: Chat, speakers: SpeakerCollector, group: ParsedGroup | None = None) -> None:
    """Make the chat a group of the members that the file has, and of its speakers other than the user.

    Those stand in the order of the group, these in the order in which they first spoke.
    """
    chat.is_group = True
    muted = dict(group.members) if group else {}
    names = list(dict.fromkeys([*muted, *speakers.others]))[:MAX_SPEAKERS]
    named = Character.objects.for_owner(chat.owner_id).in_namespace(chat.namespace)
    named = named.filter(name__in=names).order_by("-pk")
    named_ids = dict(named.values_list("name", "pk"))  # of several the oldest
    members = (Member(name, named_ids.get(name), muted.get(name, False)) for name in names)
    for participant in insert_participants(chat, members):
        said_by(participant).update(participant=participant)
