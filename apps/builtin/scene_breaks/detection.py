"""Find the messages that begin a scene."""

from collections.abc import Sequence
from functools import cache
from pathlib import Path

from apps.builtin.scene_breaks.features import WINDOW, stays_in_scene
from apps.builtin.scene_breaks.inputs import inputs_of, inputs_without_vectors
from apps.builtin.scene_breaks.marks import is_marked
from apps.builtin.scene_breaks.network import Network
from apps.extraction.steps.scene_detection import Accept, SceneTurn
from apps.llm.embeddings import EmbeddingUnavailable

WEIGHTS = Path(__file__).with_name("weights.npz")
MIN_LIKELIHOOD = 0.3  # gives the best F1 on tables left out of training


def detect_scenes(turns: Sequence[SceneTurn], first_new: int, min_messages: int, accept: Accept) -> list[int]:
    """Return the positions of the turns that begin a scene, as runs ask for them."""
    return scene_starts(turns, min_messages=min_messages, likely=likelihoods(turns, first_new), accept=accept)


def likelihoods(turns: Sequence[SceneTurn], first_new: int = 1) -> list[float]:
    """Return how likely each message from ``first_new`` begins a scene; 0 for earlier ones and the first of all.

    Without an embedding model, words alone decide.
    """
    first_new = max(first_new, 1)
    if first_new >= len(turns):
        return [0.0] * len(turns)
    try:
        inputs = inputs_of(turns, first_new)
    except EmbeddingUnavailable:
        inputs = inputs_without_vectors(turns, first_new)
    likely = _network().likelihoods(inputs)
    # The training tables have too few of these for the network to learn them.
    begins = (not stays_in_scene(turn) for turn in turns[first_new:])
    return [0.0] * first_new + [float(one) if may else 0.0 for one, may in zip(likely, begins, strict=True)]


def scene_starts(
    turns: Sequence[SceneTurn],
    *,
    min_messages: int = 3,
    likely: Sequence[float] = (),
    accept: Accept = lambda position: True,
) -> list[int]:
    """Return the positions of the turns that begin a scene, in order, without the first turn.

    A scene has at least ``min_messages``; a start that would make it shorter is ignored. ``likely`` are the turns'
    likelihoods; right after a beginning, only a mark begins another scene, since the reply to a new setting resembles
    one. ``accept`` is called for each candidate position, and decides.
    """
    starts: list[int] = []
    for position in range(1, len(turns)):
        last = starts[-1] if starts else 0
        if position - last < min_messages:
            continue
        follows = bool(starts) and last == position - 1
        begins = not follows and bool(likely) and likely[position] >= MIN_LIKELIHOOD
        if (begins or is_marked(turns[max(position - WINDOW, 0) : position], turns[position])) and accept(position):
            starts.append(position)
    return starts


def begins_scene(previous: Sequence[SceneTurn], turn: SceneTurn) -> bool:
    """Return whether ``turn`` begins a scene; False for the first message."""
    turns = [*previous, turn]
    return bool(previous) and (is_marked(previous, turn) or likelihoods(turns, len(previous))[-1] >= MIN_LIKELIHOOD)


@cache
def _network() -> Network:
    return Network.load(WEIGHTS)
