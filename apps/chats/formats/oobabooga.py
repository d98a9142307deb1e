"""Parse the histories of oobabooga's text-generation-webui: arrays of pairs [user's text, reply]."""

from collections.abc import Iterator
from typing import BinaryIO

from django.utils.translation import gettext_noop

from apps.chats.formats.conversion import USER, Version, build_header, build_message, other_chat_fields
from apps.chats.formats.documents import read_array, read_other_fields, require_messages
from apps.chats.formats.parsed import ParsedChat, ParsedMessage, Report

FORMAT = "oobabooga"

# The key of the displayed texts, and the key of the texts as sent to the model, which are ignored.
# `data_visible` and `data` are the keys of 2023.
SHOWN_KEYS = {"data_visible": "data", "visible": "internal"}
# The entities that the program writes. The ampersand is last, so that `&amp;lt;` becomes `&lt;`.
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&amp;": "&"}


def parse_chats(file: BinaryIO, report: Report, key: str) -> Iterator[ParsedChat]:
    """Yield the one chat of a history. `key` is one of `SHOWN_KEYS`."""
    chat_report = Report(FORMAT, unit="pair")
    fields = read_other_fields(file, (key,), chat_report, ignored=[SHOWN_KEYS[key]])
    header = build_header("", "", oobabooga=other_chat_fields(fields, (), chat_report))
    yield require_messages(ParsedChat(header, _messages(file, key, chat_report), chat_report))


def _messages(file: BinaryIO, key: str, report: Report) -> Iterator[ParsedMessage]:
    for number, pair in read_array(file, (key,), report):
        if not isinstance(pair, list) or len(pair) < 2:
            report.skip(number, gettext_noop("It is not a pair of texts."))
            continue
        for position, text in enumerate(pair[:2]):
            if not isinstance(text, str | None):
                report.warn(number, gettext_noop("A text was not a string: it was left out."))
            # An empty text marks the side that did not speak, as before the character's greeting.
            elif text:
                yield build_message("" if position else USER, not position, [Version(_unescape(text))])


def _unescape(text: str) -> str:
    for entity, char in _ENTITIES.items():
        text = text.replace(entity, char)
    return text
