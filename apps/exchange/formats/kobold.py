"""Parse KoboldAI Lite's saves: a story as an array of texts, in which tags or names mark the speakers."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import chain
from typing import Any, BinaryIO

from apps.chats.lorebook_entries import as_number
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.repairs import Warn
from apps.common.stored_texts import gettext_stored
from apps.exchange.formats import conversion as convert
from apps.exchange.formats.documents import read_array, read_other_fields, require_messages
from apps.exchange.formats.parsed import ImportReport, ParsedChat

FORMAT = "kobold"

SYSTEM = "System"
# Separates the names in `chatopponent` in chats with several characters.
_NAME_SEPARATOR = "||$||"
# `opmode` is 1 for a story, 2 for an adventure, 3 for a chat, 4 for instructions.
_ADVENTURE_MODE, _CHAT_MODE, _INSTRUCT_MODE = "2", "3", "4"
# In an adventure the player's lines begin with this.
_ACTION_PATTERN = re.compile(r"^[ \t]*>[ \t]*(.*)$", re.MULTILINE)
# The sequences of the instruct template in the settings, and the role whose text follows.
_TAG_SETTINGS = {"instruct_starttag": "INPUT", "instruct_endtag": "OUTPUT", "instruct_systag": "SYSTEM"}


def parse_chats(file: BinaryIO, report: ImportReport) -> Iterator[ParsedChat]:
    """Yield the one chat of a save. `prompt` is its first text, `actions` the array of those that follow."""
    chat_report = ImportReport(FORMAT, unit="message")
    save = read_other_fields(file, ("actions",), chat_report)
    settings = convert.as_object(save.get("savedsettings"))
    splitter = _splitter(settings, partial(chat_report.warn, 1))
    prompt = [(1, save["prompt"])] if save.get("prompt") else []
    actions = read_array(file, ("actions",), chat_report)
    texts = chain(prompt, ((number + len(prompt), text) for number, text in actions))
    other_fields = convert.other_chat_fields(save, ("prompt", "worldinfo", "authorsnote"), chat_report)
    user = "" if splitter.user == convert.USER else splitter.user
    note = convert.join_texts([save.get("authorsnote")])
    header = convert.build_header(user, splitter.character, kobold=other_fields, note_prompt=note)
    header = replace(header, lorebooks=_lorebooks(save.get("worldinfo")))
    yield require_messages(ParsedChat(header, _messages(texts, splitter, chat_report), chat_report))


def _splitter(settings: Mapping[str, Any], warn: Warn) -> "_SpeakerSplitter":
    user = convert.name_or(settings.get("chatname"), convert.USER, warn)
    names = settings.get("chatopponent")
    characters = [name for name in names.split(_NAME_SEPARATOR) if name.strip()] if isinstance(names, str) else []
    mode = str(settings.get("opmode"))
    return _SpeakerSplitter(
        user,
        [convert.name_or(name, "", warn) for name in characters],
        splits_by_name=mode == _CHAT_MODE,
        is_adventure=mode == _ADVENTURE_MODE,
        tags=_raw_tags(settings) if mode == _INSTRUCT_MODE else {},
    )


def _raw_tags(settings: Mapping[str, Any]) -> dict[str, tuple[str, bool]]:
    """Return the sequences of the instruct template: the role whose text follows, and whether a line begins with it."""
    tags: dict[str, tuple[str, bool]] = {}
    for key, role in _TAG_SETTINGS.items():
        for setting, next_role in ((key, role), (f"{key}_end", "OUTPUT")):
            value = settings.get(setting)
            raw = value.replace("\\n", "\n") if isinstance(value, str) else ""
            if tag := raw.strip():
                # A bare name, such as "User:", may also stand within a sentence.
                tags.setdefault(tag, (next_role, raw.startswith("\n") or tag[0].isalnum()))
    return tags


def _lorebooks(entries: Any) -> list[dict[str, Any]]:
    """Return the world info of a save as a lorebook of SillyTavern, whose fields it has under other names."""
    found = [
        {
            "uid": uid,
            "key": entry.get("key"),
            "keysecondary": entry.get("keysecondary"),
            "comment": entry.get("comment"),
            "content": entry["content"],
            "selective": entry.get("selective"),
            "constant": entry.get("constant"),
            "disable": entry.get("widisabled"),
            "probability": as_number(entry.get("probability"), 100),
        }
        for uid, entry in enumerate(convert.objects_in(entries))
        if entry.get("content")
    ]
    return [{"entries": {str(entry["uid"]): entry for entry in found}}] if found else []


def _messages(
    texts: Iterator[tuple[int, Any]], splitter: "_SpeakerSplitter", report: ImportReport
) -> Iterator[ParsedMessage]:
    for number, text in texts:
        if not isinstance(text, str):
            report.skip(number, gettext_stored("It is not text."))
            continue
        for speaker, part in splitter.split(text):
            yield convert.build_message(
                speaker, speaker == splitter.user, [convert.Version(part)], is_system=speaker == SYSTEM
            )


class _SpeakerSplitter:
    """Split texts by speaker.

    A text without a tag belongs to the character. A tag at the end of a text sets the speaker of the next one. `tags`
    are the sequences of an instruct template, as `_raw_tags` returns them.
    """

    def __init__(
        self,
        user: str,
        characters: list[str],
        *,
        splits_by_name: bool,
        is_adventure: bool,
        tags: Mapping[str, tuple[str, bool]],
    ) -> None:
        self.user = user
        self.character = characters[0] if characters else ""
        self._is_adventure = is_adventure
        roles = {"INPUT": user, "OUTPUT": self.character, "SYSTEM": SYSTEM}
        # After an _END tag the next text is the character's.
        ends = {f"{{{{[{role}_END]}}}}": self.character for role in roles}
        self._speakers = {f"{{{{[{role}]}}}}": name for role, name in roles.items()} | ends
        self._speakers |= {tag: roles[role] for tag, (role, _) in tags.items()}
        starts = {tag: "^[ \\t]*" if begins_line else "" for tag, (_, begins_line) in tags.items()}
        longest_first = sorted(self._speakers, key=len, reverse=True)
        patterns = (f"{starts.get(tag, '')}(?:{re.escape(tag)})" for tag in longest_first)
        self._tags = re.compile("|".join(patterns), re.MULTILINE)
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
        """Yield the start and end of each tag, name with a colon or player's line, and the speaker of what follows."""
        if self._tags.search(text):
            for match in self._tags.finditer(text):
                yield match.start(), match.end(), self._speakers[match[0].strip()]
        elif self._is_adventure:
            for match in _ACTION_PATTERN.finditer(text):
                yield match.start(), match.start(1), self.user
                yield match.end(), match.end(), self.character
        elif self._names:
            for match in self._names.finditer(text):
                yield match.start(), match.end(), match[1]
