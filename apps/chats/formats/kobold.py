"""Parse KoboldAI Lite's saves: a story as an array of texts, in which tags or names mark the speakers."""

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

from django.utils.translation import gettext_noop

from apps.chats.formats import conversion as convert
from apps.chats.formats.documents import read_array, read_other_fields, require_messages
from apps.chats.formats.parsed import ParsedChat, ParsedMessage, Report

FORMAT = "kobold"

SYSTEM = "System"
# Placeholders that KoboldAI Lite stores in place of the instruct template's sequences.
_TAG_PATTERN = re.compile(r"\{\{\[(INPUT|OUTPUT|SYSTEM)(_END)?\]\}\}")
# Separates the names in `chatopponent` in chats with several characters.
_NAME_SEPARATOR = "||$||"
# `opmode` is 1 for a story, 2 for an adventure, 3 for a chat, 4 for instructions.
_CHAT_MODE = 3


def parse_chats(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    """Yield the one chat of a save. `prompt` is its first text, `actions` the array of those that follow."""
    chat_report = Report(FORMAT, unit="message")
    save = read_other_fields(file, ("actions",), chat_report)
    settings = convert.as_object(save.get("savedsettings"))
    warn = partial(chat_report.warn, 1)
    user = convert.name_or(settings.get("chatname"), convert.USER, warn)
    names = settings.get("chatopponent")
    characters = [name for name in names.split(_NAME_SEPARATOR) if name.strip()] if isinstance(names, str) else []
    splits_by_name = str(settings.get("opmode")) == str(_CHAT_MODE)
    splitter = _SpeakerSplitter(user, [convert.name_or(name, "", warn) for name in characters], splits_by_name)
    prompt = [(1, save["prompt"])] if save.get("prompt") else []
    actions = read_array(file, ("actions",), chat_report)
    texts = chain(prompt, ((number + len(prompt), text) for number, text in actions))
    other_fields = convert.other_chat_fields(save, ("prompt",), chat_report)
    header = convert.build_header("" if user == convert.USER else user, splitter.character, kobold=other_fields)
    yield require_messages(ParsedChat(header, _messages(texts, splitter, chat_report), chat_report))


def _messages(
    texts: Iterator[tuple[int, Any]], splitter: "_SpeakerSplitter", report: Report
) -> Iterator[ParsedMessage]:
    for number, text in texts:
        if not isinstance(text, str):
            report.skip(number, gettext_noop("It is not text."))
            continue
        for speaker, part in splitter.split(text):
            yield convert.build_message(
                speaker, speaker == splitter.user, [convert.Version(part)], is_system=speaker == SYSTEM
            )


class _SpeakerSplitter:
    """Split texts by speaker.

    A text without a tag belongs to the character. A tag at the end of a text sets the speaker of the next one.
    """

    def __init__(self, user: str, characters: list[str], splits_by_name: bool) -> None:
        self.user = user
        self.character = characters[0] if characters else ""
        self._roles = {"INPUT": user, "OUTPUT": self.character, "SYSTEM": SYSTEM}
        names = "|".join(re.escape(name) for name in [user, *characters])
        self._names = re.compile(rf"^({names}):", re.MULTILINE) if splits_by_name else None
        self._next: str | None = None

    def split(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield the parts of `text` as (speaker, part)."""
        speaker = self.character if self._next is None else self._next
        self._next = None
        start = 0
        for mark_start, mark_end, next_speaker in self._find_marks(text):
            if part := text[start:mark_start].strip():
                yield speaker, part
            speaker, start = next_speaker, mark_end
        if part := text[start:].strip():
            yield speaker, part
        elif start:
            self._next = speaker

    def _find_marks(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the start and end of each tag, or name with a colon, and the speaker of the text after it."""
        if self._names and not _TAG_PATTERN.search(text):
            for match in self._names.finditer(text):
                yield match.start(), match.end(), match[1]
            return
        for match in _TAG_PATTERN.finditer(text):
            # After an _END tag the next text is the character's.
            yield match.start(), match.end(), self.character if match[2] else self._roles[match[1]]
