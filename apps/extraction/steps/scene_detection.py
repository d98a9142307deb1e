"""Register the detector of scene starts, and call it."""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SceneTurn:
    """Message as a detector reads it; ``sent_at`` is None if unknown."""

    name: str
    is_user: bool
    text: str
    sent_at: dt.datetime | None = None


Accept = Callable[[int], bool]  # decides whether a position begins a scene
# Called with the turns, the position of the first new one, the minimum length of a scene, and a function that
# accepts a position. Returns the positions of the turns that begin a scene.
Detector = Callable[[Sequence[SceneTurn], int, int, Accept], list[int]]

_detectors: list[Detector] = []


def register_detector(detector: Detector) -> None:
    """Register ``detector``, which replaces the one before."""
    _detectors[:] = [detector]


def scene_starts(turns: Sequence[SceneTurn], first_new: int, min_messages: int, accept: Accept) -> list[int]:
    """Return the positions of the turns that begin a scene; none if no detector is registered."""
    return _detectors[0](turns, first_new, min_messages, accept) if _detectors else []
