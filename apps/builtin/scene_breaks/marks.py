"""Find scene breaks marked by a separator, a heading, a new place field, a long pause. Without database access."""

import datetime as dt
from collections.abc import Sequence

from apps.builtin.scene_breaks.parts import parts_of
from apps.extraction.steps.scene_detection import SceneTurn

MIN_PAUSE = dt.timedelta(hours=6)  # minimum time between two messages that begins a scene
HABIT_LENGTH = 2  # messages of an author with a separator, after which another separator is ignored


def is_marked(previous: Sequence[SceneTurn], turn: SceneTurn) -> bool:
    """Return whether a mark begins a scene with ``turn``. ``previous`` must not be empty."""
    before = previous[-1]
    if turn.sent_at and before.sent_at and turn.sent_at - before.sent_at >= MIN_PAUSE:
        return True
    now = parts_of(turn.text)
    if now.separated and not _uses_separators_always(turn.name, previous):
        return True
    if parts_of(before.text).closed and not _uses_separators_always(before.name, previous[:-1], least=1):
        return True
    places = [place for one in reversed(previous) if (place := parts_of(one.text).place)]
    return now.titled or bool(now.place and now.place not in places[:1])


def _uses_separators_always(name: str, previous: Sequence[SceneTurn], least: int = HABIT_LENGTH) -> bool:
    """Return whether the latest messages of an author, at least ``least``, all have a separator."""
    own = [parts_of(one.text) for one in previous if one.name == name][-HABIT_LENGTH:]
    return len(own) >= least and all(one.separated or one.closed for one in own)
