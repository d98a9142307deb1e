"""What the detection of scenes reads and tells. Pure."""

import datetime as dt
from dataclasses import dataclass


@dataclass(frozen=True)
class Turn:
    """A message: who wrote it, and when, where that is known."""

    name: str
    is_user: bool
    text: str
    sent_at: dt.datetime | None = None


@dataclass(frozen=True)
class Break:
    """A scene begins. ``reason`` is what tells it: ``separator``, ``heading``, ``pause``, or the words of the text."""

    reason: str
