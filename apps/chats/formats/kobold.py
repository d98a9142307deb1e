"""Parse KoboldAI Lite's saves: a story as an array of texts, in which tags or names mark the speakers."""

import re
from collections.abc import Iterator
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

from apps.chats.formats.conversion import USER, Version, as_object, header, message, name_or, other_chat_fields
from apps.chats.formats.documents import read_array, read_other_fields, require_messages
from apps.chats.formats.parsed import ParsedChat, ParsedMessage, Report

FORMAT = "kobold"

SYSTEM = "System"
# Placeholders that KoboldAI Lite stores in place of the instruct template's sequences.
_TAGS = re.compile(r"\{\{\[(INPUT|OUTPUT|SYSTEM)(_END)?\]\}\}")
# Separates the names in `chatopponent` in chats with several characters.
_SEPARATOR = "||$||"
# `opmode` is 1 for a story, 2 for an adventure, 3 for a chat, 4 for instructions.
_CHAT_MODE = 3


def parse_chats(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    """Yield the one chat of a save. `prompt` is its first text, `actions` the array of those that follow."""
    own = Report(FORMAT, unit="message")
    save = read_other_fields(file, ("actions",), own)
    settings = as_object(save.get("savedsettings"))
    warn = partial(own.warn, 1)
    user = name_or(settings.get("chatname"), USER, warn)
    opponents = settings.get("chatopponent")
    others = [name for name in opponents.split(_SEPARATOR) if name.strip()] if isinstance(opponents, str) else []
    by_name = str(settings.get("opmode")) == str(_CHAT_MODE)
    splitter = _SpeakerSplitter(user, [name_or(name, "", warn) for name in others], by_name)
    prompt = [(1, save["prompt"])] if save.get("prompt") else []
    texts = chain(prompt, ((number + len(prompt), text) for number, text in read_array(file, ("actions",), own)))
    other_fields = other_chat_fields(save, ("prompt",), own)
    head = header("" if user == USER else user, splitter.other, kobold=other_fields)
    yield require_messages(ParsedChat(head, _messages(texts, splitter, own), own))


def _messages(
    texts: Iterator[tuple[int, Any]], splitter: "_SpeakerSplitter", report: Report
) -> Iterator[ParsedMessage]:
    for number, text in texts:
        if not isinstance(text, str):
            report.skip(number, "It is no text.")
            continue
        for speaker, words in splitter.split(text):
            yield message(speaker, speaker == splitter.user, [Version(words)], is_system=speaker == SYSTEM)


class _SpeakerSplitter:
    """Split texts by speaker.

    A text without a tag belongs to the character. A tag at the end of a text sets the speaker of the next one.
    """

    def __init__(self, user: str, others: list[str], by_name: bool) -> None:
        self.user = user
        self.other = others[0] if others else ""
        self._roles = {"INPUT": user, "OUTPUT": self.other, "SYSTEM": SYSTEM}
        names = "|".join(re.escape(name) for name in [user, *others])
        self._names = re.compile(rf"^({names}):", re.MULTILINE) if by_name else None
        self._next: str | None = None

    def split(self, text: str) -> Iterator[tuple[str, str]]:
        """Yield each part of `text` as (speaker, words)."""
        speaker = self.other if self._next is None else self._next
        self._next = None
        start = 0
        for mark_start, mark_end, next_speaker in self._find_marks(text):
            if words := text[start:mark_start].strip():
                yield speaker, words
            speaker, start = next_speaker, mark_end
        if words := text[start:].strip():
            yield speaker, words
        elif start:
            self._next = speaker

    def _find_marks(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Yield the start and end of each tag, or name with a colon, and the speaker of the text after it."""
        if self._names and not _TAGS.search(text):
            for match in self._names.finditer(text):
                yield match.start(), match.end(), match[1]
            return
        for match in _TAGS.finditer(text):
            # After an _END tag the next text is the character's.
            yield match.start(), match.end(), self.other if match[2] else self._roles[match[1]]
