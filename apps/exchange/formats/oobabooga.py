"""Parse the histories of oobabooga's text-generation-webui: arrays of pairs [user's text, reply].

Newer ones have `metadata`, where `user_3` and `assistant_3` tell of the texts of the pair at index 3: their times,
versions and attachments.
"""

from collections.abc import Iterator, Mapping
from functools import partial
from typing import Any, BinaryIO

from apps.chats.dates import parse_date
from apps.chats.message_data.parsed import ParsedMessage
from apps.chats.repairs import Warn
from apps.common.stored_texts import gettext_stored
from apps.exchange.formats import conversion as convert
from apps.exchange.formats.conversion import USER, Version, build_header, build_message, other_chat_fields
from apps.exchange.formats.documents import read_array, read_other_fields, require_messages
from apps.exchange.formats.parsed import ImportReport, ParsedChat

FORMAT = "oobabooga"

# The key of the displayed texts, and the key of the texts as sent to the model, which are read where those end.
# `data_visible` and `data` are the keys of 2023.
SHOWN_KEYS = {"data_visible": "data", "visible": "internal"}
# The entities that the program writes. The ampersand is last, so that `&amp;lt;` becomes `&lt;`.
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&#x27;": "'", "&amp;": "&"}
_KNOWN_FIELDS = ("timestamp", "versions", "current_version_index", "attachments")


def parse_chats(file: BinaryIO, report: ImportReport, key: str) -> Iterator[ParsedChat]:
    """Yield the one chat of a history. `key` is one of `SHOWN_KEYS`."""
    chat_report = ImportReport(FORMAT, unit="pair")
    fields = read_other_fields(file, (key,), chat_report, ignored=[SHOWN_KEYS[key]])
    details = convert.as_object(fields.pop("metadata", None))
    header = build_header("", "", oobabooga=other_chat_fields(fields, (), chat_report))
    yield require_messages(ParsedChat(header, _messages(file, key, details, chat_report), chat_report))


def _messages(file: BinaryIO, key: str, details: Mapping[str, Any], report: ImportReport) -> Iterator[ParsedMessage]:
    for number, pair in _pairs(file, key, report):
        if not isinstance(pair, list) or len(pair) < 2:
            report.skip(number, gettext_stored("It is not a pair of texts."))
            continue
        for side, text in zip(("user", "assistant"), pair, strict=False):
            if not isinstance(text, str | None):
                report.warn(number, gettext_stored("A text was not a string: it was left out."))
                continue
            known = convert.as_object(details.get(f"{side}_{number - 1}"))
            # An empty text marks the side that did not speak, as before the character's greeting.
            if text or known.get("attachments"):
                yield _message(side == "user", _unescape(text or ""), known, partial(report.warn, number))


def _pairs(file: BinaryIO, key: str, report: ImportReport) -> Iterator[tuple[int, Any]]:
    """Yield the pairs as they are displayed, and then those that only the model has seen."""
    shown = 0
    for shown, pair in read_array(file, (key,), report):
        yield shown, pair
    for number, pair in read_array(file, (SHOWN_KEYS[key],), ImportReport(FORMAT)):
        if number > shown:
            yield number, pair


def _message(is_user: bool, text: str, known: Mapping[str, Any], warn: Warn) -> ParsedMessage:
    attachments = convert.objects_in(known.get("attachments"))
    texts = [convert.attached_text(item.get("name"), item.get("content")) for item in attachments]
    named = [convert.without(item, "content") for item in attachments]
    extra = convert.other_message_fields(
        "oobabooga", {**convert.without(known, *_KNOWN_FIELDS), "attachments": named}, (), warn
    )
    current = Version(convert.join_texts([text, *texts]), extra, parse_date(known.get("timestamp")))
    versions = [
        Version(_unescape(shown), {}, parse_date(item.get("timestamp")))
        for item in convert.objects_in(known.get("versions"))
        if isinstance(shown := item.get("visible_content", item.get("content")), str)
    ]
    active = known.get("current_version_index")
    if not (isinstance(active, int) and 0 <= active < len(versions)):
        active = len(versions)
    # The text of the history is the active version: it may have been edited since.
    versions[active : active + 1] = [current]
    return build_message(USER if is_user else "", is_user, versions, active)


def _unescape(text: str) -> str:
    for entity, char in _ENTITIES.items():
        text = text.replace(entity, char)
    return text
