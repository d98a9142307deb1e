"""What the readers of foreign formats share: messages, headers and what has no room of its own, in our form."""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from apps.chats.dates import parse_date
from apps.chats.formats.json_lines import Warn
from apps.chats.formats.layout import dump
from apps.chats.formats.parsed import ParsedHeader, ParsedMessage, ParsedSwipe, Report
from apps.chats.formats.repairs import MAX_NAME, as_name

USER = "You"

# Of a message's, and of a chat's data without a room of its own, as JSON.
KEPT_OF_MESSAGE = 2**16
KEPT_OF_CHAT = 2**20


@dataclass(frozen=True)
class Version:
    """A text of a message, with what belongs to it."""

    text: str
    extra: dict[str, Any] = field(default_factory=dict)
    sent_at: dt.datetime | None = None


def message(
    name: str, is_user: bool, versions: Sequence[Version], active: int = 0, *, is_system: bool = False
) -> ParsedMessage:
    """A message as it would have been written here, with one or several versions."""
    sent_at = versions[active].sent_at
    dates = [
        {"send_date": iso(version.sent_at)} if version.sent_at and len(versions) > 1 else {} for version in versions
    ]
    return ParsedMessage(
        name=name[:MAX_NAME],
        is_user=is_user,
        is_system=is_system,
        send_date=iso(sent_at),
        sent_at=sent_at,
        swipe_id=active,
        swipes=tuple(
            ParsedSwipe(version.text, version.extra, date) for version, date in zip(versions, dates, strict=True)
        ),
        layout="",
    )


def iso(moment: dt.datetime | None) -> str:
    """RFC 3339 in UTC; empty for None."""
    return "" if moment is None else moment.isoformat().replace("+00:00", "Z")


def from_seconds(value: Any) -> dt.datetime | None:
    """The moment that a number of seconds since 1970 means."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return parse_date(value * 1000)
    except OverflowError:
        return None


def header(user_name: str, character_name: str, created_at: dt.datetime | None = None, **metadata: Any) -> ParsedHeader:
    """A header as it would have been written here; of the metadata, what is not empty."""
    present = {key: value for key, value in metadata.items() if value}
    return ParsedHeader(user_name[:MAX_NAME], character_name[:MAX_NAME], created_at, present, layout="")


def title_of(value: Any) -> str:
    """A title from a file, in one line; empty where it is none."""
    text = value if isinstance(value, str) else ""
    return "".join(char if char.isprintable() else " " for char in text).strip()[:MAX_NAME]


def name_or(value: Any, fallback: str, warn: Warn) -> str:
    """A name, or `fallback` where there is none."""
    return (as_name(value, warn).strip() if isinstance(value, str) else "") or fallback


def kept(data: Mapping[str, Any], limit: int, warn: Warn) -> dict[str, Any]:
    """What is not empty in `data`; the largest values are left out until it is `limit` bytes of JSON."""
    sizes = {key: len(dump(value).encode()) for key, value in data.items() if value not in (None, "", [], {})}
    while sum(sizes.values()) > limit:
        largest = max(sizes, key=lambda key: sizes[key])
        warn(f"{largest[:80]} was left out: it is too large to be kept with its message or chat.")
        del sizes[largest]
    return {key: data[key] for key in sizes}


def without(data: Mapping[str, Any], *keys: str) -> dict[str, Any]:
    return {key: value for key, value in data.items() if key not in keys}


def mapping(value: Any) -> dict[str, Any]:
    """`value` where it is an object, else an empty one."""
    return value if isinstance(value, dict) else {}


def with_text(values: Iterable[tuple[int, Any]], key: str, report: Report) -> Iterator[tuple[int, dict[str, Any]]]:
    """Those of the numbered values that are objects with `key`; the others are said in the report."""
    for number, value in values:
        if not isinstance(value, dict):
            report.skip(number, "Not a JSON object.")
        elif key not in value:
            report.skip(number, f"It has no {key}.")
        else:
            yield number, value


def numbered(value: Any) -> Iterator[tuple[int, Any]]:
    """The values of an array with their numbers, from 1; of anything else, none."""
    return enumerate(value if isinstance(value, list) else [], 1)


def objects(value: Any) -> list[dict[str, Any]]:
    """The objects of an array; of anything else, none."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
