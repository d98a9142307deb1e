"""Build parsed messages and headers from the values of other programs' chat formats."""

import datetime as dt
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any

from apps.chats.limits import MAX_NAME_LENGTH
from apps.chats.message_data.layout import dump
from apps.chats.message_data.parsed import ParsedMessage, ParsedSwipe
from apps.chats.repairs import Warn, as_name
from apps.common.stored_texts import gettext_stored
from apps.exchange.formats.parsed import ImportReport, ParsedHeader

# The name of the user in formats that don't store one.
USER = "You"

# Limits, in bytes of JSON, for the fields of a message or a chat that have no column and go to `extra` or metadata.
MAX_MESSAGE_FIELDS_BYTES = 2**16
MAX_CHAT_FIELDS_BYTES = 2**20


@dataclass(frozen=True)
class Version:
    """One version of a message: its text, its `extra` and its date."""

    text: str
    extra: dict[str, Any] = field(default_factory=dict)
    sent_at: dt.datetime | None = None


def build_message(
    name: str, is_user: bool, versions: Sequence[Version], active: int = 0, *, is_system: bool = False
) -> ParsedMessage:
    """Build a message with a swipe for each version. `active` is the index of the active one."""
    sent_at = versions[active].sent_at
    dates = [{"send_date": iso_date(item.sent_at)} if item.sent_at and len(versions) > 1 else {} for item in versions]
    return ParsedMessage(
        name=name[:MAX_NAME_LENGTH],
        is_user=is_user,
        is_system=is_system,
        send_date=iso_date(sent_at),
        sent_at=sent_at,
        swipe_id=active,
        swipes=tuple(
            ParsedSwipe(version.text, version.extra, date) for version, date in zip(versions, dates, strict=True)
        ),
        layout="",
    )


def build_header(user: str, character: str, created_at: dt.datetime | None = None, **metadata: Any) -> ParsedHeader:
    """Build a header. Empty values of `metadata` are dropped."""
    present = {key: value for key, value in metadata.items() if value}
    return ParsedHeader(user[:MAX_NAME_LENGTH], character[:MAX_NAME_LENGTH], created_at, present, layout="")


def iso_date(moment: dt.datetime | None) -> str:
    """Format a date as RFC 3339 in UTC. Return an empty string for None."""
    return "" if moment is None else moment.isoformat().replace("+00:00", "Z")


def title_of(value: Any) -> str:
    """Return a title as one line of printable characters, or an empty string if `value` is not a string."""
    text = value if isinstance(value, str) else ""
    return "".join(char if char.isprintable() else " " for char in text).strip()[:MAX_NAME_LENGTH]


def name_or(value: Any, fallback: str, warn: Warn) -> str:
    """Return the name in `value`, or `fallback` if it is empty or not a string."""
    return (as_name(value, warn).strip() if isinstance(value, str) else "") or fallback


def other_message_fields(key: str, line: Mapping[str, Any], known: Iterable[str], warn: Warn) -> dict[str, Any]:
    """Return an `extra` that has the message's fields other than `known`, limited in size, under `key`, if any."""
    fields = _limit_size(without(line, *known), MAX_MESSAGE_FIELDS_BYTES, warn)
    return {key: fields} if fields else {}


def other_chat_fields(chat: Mapping[str, Any], known: Iterable[str], report: ImportReport) -> dict[str, Any]:
    """Return the fields of a chat other than `known`, limited in size, to be stored in its metadata."""
    return _limit_size(without(chat, *known), MAX_CHAT_FIELDS_BYTES, partial(report.warn, 1))


def _limit_size(data: Mapping[str, Any], limit: int, warn: Warn) -> dict[str, Any]:
    """Drop empty values, then the largest ones until the rest takes at most `limit` bytes of JSON."""
    sizes = {key: len(dump(value).encode()) for key, value in data.items() if value not in (None, "", [], {})}
    while sum(sizes.values()) > limit:
        largest = max(sizes, key=lambda key: sizes[key])
        warn(f"{largest[:80]} was left out: it is too large to be stored with its message or chat.")
        del sizes[largest]
    return {key: data[key] for key in sizes}


def without(data: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    """Return a copy of `data` without `keys`."""
    return {key: value for key, value in data.items() if key not in keys}


def as_object(value: Any) -> dict[str, Any]:
    """Return `value` if it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def objects_with_key(
    values: Iterable[tuple[int, Any]], key: str, report: ImportReport
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the numbered values that are objects with `key`. Report the others as skipped."""
    for number, value in values:
        if not isinstance(value, dict):
            report.skip(number, gettext_stored("Not a JSON object."))
        elif key not in value:
            report.skip(number, gettext_stored("It has no %(key)s.", key=key))
        else:
            yield number, value


def numbered_items(value: Any) -> Iterator[tuple[int, Any]]:
    """Yield the items of an array with their numbers, from 1. Yield nothing if `value` is not an array."""
    return enumerate(value if isinstance(value, list) else [], 1)


def objects_in(value: Any) -> list[dict[str, Any]]:
    """Return the objects in an array. Return an empty list if `value` is not an array."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def join_texts(values: Iterable[Any]) -> str:
    """Join the non-empty strings among `values` with blank lines."""
    return "\n\n".join(text for text in values if isinstance(text, str) and text)


def split_after_last(end: re.Pattern[str], text: str) -> tuple[str, str]:
    """Return a text up to its last match of `end`, and the rest.

    A search for what stands between two marks takes the square of the text's length where the second mark is missing.
    """
    position = max((match.end() for match in end.finditer(text)), default=0)
    return text[:position], text[position:]


def attached_text(name: Any, text: Any) -> str:
    """Return the text of a file that is attached to a message, below the file's name; empty if it has no text."""
    if not isinstance(text, str) or not text.strip():
        return ""
    return f"{name}:\n{text}" if isinstance(name, str) and name.strip() else text


def split_parts(content: Any) -> tuple[str, list[Any]]:
    """Return the text of a message's content, which is a text or a list of parts, and the parts without a text."""
    parts = content if isinstance(content, list) else [content]
    texts = [part if isinstance(part, str) else as_object(part).get("text") for part in parts]
    others = [part for part, text in zip(parts, texts, strict=True) if part is not None and not isinstance(text, str)]
    return join_texts(texts), others
