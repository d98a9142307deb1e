"""The scene detector of the built-in extractor."""

from collections.abc import Callable, Sequence

from apps.builtin.scene_breaks import Turn, likelihoods
from apps.builtin.scene_breaks import scene_starts as starts_of
from apps.extraction.stages.scene_detection import SceneTurn
from apps.llm.embeddings import EmbeddingUnavailable


def scene_starts(turns: Sequence[SceneTurn], first: int, min_messages: int, agrees: Callable[[int], bool]) -> list[int]:
    """Return the positions of the turns that begin a scene. Without the embedding model, separators alone tell."""
    read = [Turn(turn.name, turn.is_user, turn.text, turn.sent_at) for turn in turns]
    try:
        likely = likelihoods(read, first)
    except EmbeddingUnavailable:
        likely = []
    return starts_of(read, min_messages=min_messages, likely=likely, agrees=agrees)
