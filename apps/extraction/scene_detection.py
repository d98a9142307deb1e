"""Find where scenes begin, with the detector that is registered."""

import datetime as dt
from collections.abc import Callable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class SceneTurn:
    """A message as a detector reads it; ``sent_at`` is None where it is unknown."""

    name: str
    is_user: bool
    text: str
    sent_at: dt.datetime | None = None


# Takes the turns, the position of the first new one, the least length of a scene, and a function that has the last
# word on a position. Returns the positions of the turns that begin a scene.
Detector = Callable[[Sequence[SceneTurn], int, int, Callable[[int], bool]], list[int]]

_detectors: list[Detector] = []


def register_detector(detector: Detector) -> None:
    """Have ``detector`` used from now on."""
    _detectors[:] = [detector]


def scene_starts(turns: Sequence[SceneTurn], first: int, min_messages: int, agrees: Callable[[int], bool]) -> list[int]:
    """Return the positions of the turns that begin a scene; none without a registered detector."""
    return _detectors[0](turns, first, min_messages, agrees) if _detectors else []
