"""Find scenes for the pipeline with the built-in detector."""

from collections.abc import Sequence

from apps.builtin.scene_breaks import likelihoods
from apps.builtin.scene_breaks import scene_starts as detect_scene_starts
from apps.extraction.tiers.scene_detection import Accept, SceneTurn


def scene_starts(turns: Sequence[SceneTurn], first_new: int, min_messages: int, accept: Accept) -> list[int]:
    """Return the positions of the turns that begin a scene."""
    return detect_scene_starts(turns, min_messages=min_messages, likely=likelihoods(turns, first_new), accept=accept)
