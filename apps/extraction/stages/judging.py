"""Choose the thresholds for verdicts, and who decides what is uncertain: the model or the learned comparison."""

from collections.abc import Sequence

from apps.english.comparison import Comparison, compare
from apps.extraction.parsers.answers import parse_update
from apps.extraction.settings.schema import Settings
from apps.extraction.stages.context import Context
from apps.llm.embeddings import EmbeddingUnavailable, get_embedder
from apps.llm.generation import GenerationFailed
from apps.memories.models import Memory
from apps.memories.verdicts import Compare, Confirm, Thresholds

ANSWER_TOKENS = 20
MAX_QUESTIONS = 12  # of one step
STANDS = Comparison(superseded=0, duplicate=0, passed=1)


def thresholds_of(settings: Settings, *, by_words: bool) -> Thresholds:
    if by_words:
        return Thresholds(
            duplicate=settings.word_duplicate,
            cross_kind_duplicate=settings.word_cross_kind_duplicate,
            same_topic=settings.word_same_topic,
        )
    return Thresholds(
        duplicate=settings.duplicate,
        cross_kind_duplicate=settings.cross_kind_duplicate,
        same_topic=settings.same_topic,
    )


def confirm_by(context: Context, tier: str) -> Confirm | None:
    """Return a function that asks the model whether a statement replaces another; None where there is no model.

    Only of long-term memories: those of a session are many, and short-lived. A model that fails to answer replaces
    nothing.
    """
    if context.backend.name == "builtin" or tier != Memory.Tier.LONG_TERM:
        return None
    asked: dict[tuple[str, str], bool] = {}

    def confirm(old: str, new: str) -> bool:
        if (old, new) not in asked and len(asked) < MAX_QUESTIONS:
            asked[old, new] = _replaces(context, old, new)
        return asked.get((old, new), False)

    return confirm


def compare_by(context: Context) -> Compare | None:
    """Return the learned comparison where there is no model to ask."""
    return _compare if context.backend.name == "builtin" else None


def _compare(pairs: Sequence[tuple[str, str, str]]) -> list[Comparison]:
    """Compare by this machine's embedding model; where that is out of order, nothing is a change or a repetition."""
    try:
        return compare(pairs, get_embedder().embed)
    except EmbeddingUnavailable:
        return [STANDS] * len(pairs)


def _replaces(context: Context, old: str, new: str) -> bool:
    try:
        reply = context.ask("supersession", {"old": old, "new": new}, max_tokens=ANSWER_TOKENS)
    except GenerationFailed:
        return False
    return parse_update(reply) is True
