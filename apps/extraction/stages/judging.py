"""By what candidates are judged: the thresholds that hold, and who decides where no rule does."""

from collections.abc import Sequence

from apps.extraction.parsers.answers import parse_update
from apps.extraction.settings.schema import Settings
from apps.extraction.stages.context import Context
from apps.llm.embeddings import EmbeddingUnavailable
from apps.llm.generation import GenerationFailed
from apps.memories.comparison import Comparison, compare
from apps.memories.models import Memory
from apps.memories.verdicts import COSINE, JACCARD, Compare, Confirm, Thresholds

ANSWER_TOKENS = 20
MAX_QUESTIONS = 12  # of one step
STANDS = Comparison(superseded=0, duplicate=0, passed=1)


def thresholds_of(settings: Settings, *, by_words: bool) -> Thresholds:
    if by_words:
        return Thresholds(
            duplicate=settings.word_duplicate,
            cross_kind_duplicate=settings.word_cross_kind_duplicate,
            same_topic=settings.word_same_topic,
            same_frame=JACCARD.same_frame,
            weighed=JACCARD.weighed,
        )
    return Thresholds(
        duplicate=settings.duplicate,
        cross_kind_duplicate=settings.cross_kind_duplicate,
        same_topic=settings.same_topic,
        same_frame=COSINE.same_frame,
        weighed=COSINE.weighed,
    )


def confirm_by(context: Context, tier: str) -> Confirm | None:
    """Asks the model whether a statement replaces another; None where there is no model to ask.

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


def compare_by(context: Context, tier: str) -> Compare | None:
    """Weighs what no rule decides, where there is no model to ask. Of long-term memories only, as above."""
    return _weigh if context.backend.name == "builtin" and tier == Memory.Tier.LONG_TERM else None


def _weigh(pairs: Sequence[tuple[str, str, str]]) -> list[Comparison]:
    """Where this machine's embedding model is out of order nothing is decided, and all of them stand."""
    try:
        return compare(pairs)
    except EmbeddingUnavailable:
        return [STANDS] * len(pairs)


def _replaces(context: Context, old: str, new: str) -> bool:
    try:
        reply = context.ask("supersession", {"old": old, "new": new}, max_tokens=ANSWER_TOKENS)
    except GenerationFailed:
        return False
    return parse_update(reply) is True
