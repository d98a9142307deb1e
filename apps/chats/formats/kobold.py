"""KoboldAI Lite's saves: a story as a list of texts, in which marks or names say who speaks."""

import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

from apps.chats.formats.documents import facts_of, primed, values_at
from apps.chats.formats.foreign import KEPT_OF_CHAT, USER, Version, header, kept, mapping, message, name_or, without
from apps.chats.formats.parsed import ParsedChat, ParsedMessage, Report

FORMAT = "kobold"

SYSTEM = "System"
_MARKS = re.compile(r"\{\{\[(INPUT|OUTPUT|SYSTEM)(_END)?\]\}\}")
_SEPARATOR = "||$||"
_CHAT_MODE = 3

Piece = tuple[str, str]  # who speaks, and the text


def chats(file: BinaryIO, report: Report) -> Iterator[ParsedChat]:
    """The one chat of a save."""
    own = Report(FORMAT, unit="message")
    save = facts_of(file, ("actions",), own)
    settings = mapping(save.get("savedsettings"))
    warn = partial(own.warn, 1)
    user = name_or(settings.get("chatname"), USER, warn)
    opponents = settings.get("chatopponent")
    others = [name for name in opponents.split(_SEPARATOR) if name.strip()] if isinstance(opponents, str) else []
    script = _Script(user, [name_or(name, "", warn) for name in others], by_name=_is_chat(settings))
    beside = kept(without(save, "prompt"), KEPT_OF_CHAT, warn)
    prompt = [(1, save["prompt"])] if save.get("prompt") else []
    texts = chain(prompt, ((number + len(prompt), text) for number, text in values_at(file, ("actions",), own)))
    head = header("" if user == USER else user, script.other, kobold=beside)
    yield primed(ParsedChat(head, _messages(texts, script, own), own))


def _is_chat(settings: Mapping[str, Any]) -> bool:
    return str(settings.get("opmode")) == str(_CHAT_MODE)


def _messages(texts: Iterator[tuple[int, Any]], script: "_Script", report: Report) -> Iterator[ParsedMessage]:
    for number, text in texts:
        if not isinstance(text, str):
            report.skip(number, "It is no text.")
            continue
        for speaker, words in script.pieces(text):
            yield message(speaker, speaker == script.user, [Version(words)], is_system=speaker == SYSTEM)


class _Script:
    """Tells who says what. A text without a mark is the other side's; a mark at the end names who comes next."""

    def __init__(self, user: str, others: list[str], by_name: bool) -> None:
        self.user = user
        self.other = others[0] if others else ""
        self._roles = {"INPUT": user, "OUTPUT": self.other, "SYSTEM": SYSTEM}
        names = "|".join(re.escape(name) for name in [user, *others])
        self._names = re.compile(rf"^({names}):", re.MULTILINE) if by_name else None
        self._next: str | None = None

    def pieces(self, text: str) -> Iterator[Piece]:
        speaker = self.other if self._next is None else self._next
        self._next = None
        start = 0
        for end, behind, then in self._marks(text):
            if words := text[start:end].strip():
                yield speaker, words
            speaker, start = then, behind
        if words := text[start:].strip():
            yield speaker, words
        elif start:
            self._next = speaker

    def _marks(self, text: str) -> Iterator[tuple[int, int, str]]:
        """Where each mark starts and ends, and who speaks behind it."""
        if self._names and not _MARKS.search(text):
            for match in self._names.finditer(text):
                yield match.start(), match.end(), match[1]
            return
        for match in _MARKS.finditer(text):
            yield match.start(), match.end(), self.other if match[2] else self._roles[match[1]]
