"""A message with its swipes as it is parsed from a request or a file, before it is stored."""

import datetime as dt
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class ParsedSwipe:
    """One version of a message: its text, its `extra`, and its entry of `swipe_info` without `extra`.

    `instance` wrote it, if it is copied from a stored one; no file has it.
    """

    mes: str
    extra: dict[str, Any] = field(default_factory=dict)
    info: dict[str, Any] = field(default_factory=dict)
    instance: str = ""


@dataclass(frozen=True)
class ParsedMessage:
    """A message in the form in which it is stored.

    `send_date` is the date as written in the file (empty if absent), `sent_at` the same date parsed, in UTC. There is
    at least one swipe; `swipe_id` is the index of the active one. For `layout` see the module `layout`.
    """

    name: str
    is_user: bool
    is_system: bool
    send_date: Any
    sent_at: dt.datetime | None
    swipe_id: int
    swipes: tuple[ParsedSwipe, ...]
    layout: str

    @property
    def active(self) -> ParsedSwipe:
        """Return the active swipe."""
        return self.swipes[self.swipe_id]
