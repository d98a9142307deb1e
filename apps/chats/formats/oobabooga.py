"""oobabooga's text-generation-webui: pairs of what was asked and answered, as they were shown."""

from collections.abc import Iterator
from functools import partial
from typing import BinaryIO

from apps.chats.formats.documents import facts_of, primed, values_at
from apps.chats.formats.foreign import KEPT_OF_CHAT, USER, Version, header, kept, message
from apps.chats.formats.parsed import ParsedChat, ParsedMessage, Report

FORMAT = "oobabooga"

# The first is that of 2023. What each leaves out is the same text as it was sent to the model.
SHOWN_KEYS = {"data_visible": "data", "visible": "internal"}
# As the program writes HTML; the ampersand comes last, so that nothing is read twice.
_ESCAPED = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&amp;": "&"}


def chats(file: BinaryIO, report: Report, key: str) -> Iterator[ParsedChat]:
    """The one chat of a history, of which the texts are under `key`."""
    own = Report(FORMAT, unit="pair")
    beside = kept(facts_of(file, (key,), own, ignored=[SHOWN_KEYS[key]]), KEPT_OF_CHAT, partial(own.warn, 1))
    yield primed(ParsedChat(header("", "", oobabooga=beside), _messages(file, key, own), own))


def _messages(file: BinaryIO, key: str, report: Report) -> Iterator[ParsedMessage]:
    for number, pair in values_at(file, (key,), report):
        if not isinstance(pair, list) or len(pair) < 2:
            report.skip(number, "It is no pair of texts.")
            continue
        for position, text in enumerate(pair[:2]):
            if not isinstance(text, str | None):
                report.warn(number, "A text was no string: it was left out.")
            elif text:
                yield message("" if position else USER, not position, [Version(_unescaped(text))])


def _unescaped(text: str) -> str:
    for escaped, char in _ESCAPED.items():
        text = text.replace(escaped, char)
    return text
