"""Choose the thresholds of verdicts, and whether the model or the learned comparison decides uncertain ones."""

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
MAX_QUESTIONS = 12  # per step
UNRELATED = Comparison(superseded=0, duplicate=0, passed=1)


def thresholds_of(settings: Settings, *, by_words: bool) -> Thresholds:
    """Return the thresholds for similarity by words, or else by embeddings."""
    if by_words:
        return Thresholds(
            duplicate=settings.word_duplicate,
            cross_kind_duplicate=settings.word_cross_kind_duplicate,
            same_topic=settings.word_same_topic,
        )
    return Thresholds(
        duplicate=settings.duplicate, cross_kind_duplicate=settings.cross_kind_duplicate, same_topic=settings.same_topic
    )


def confirmation_for(context: Context, tier: str) -> Confirm | None:
    """Return a function that asks the model whether a statement replaces another; None for the built-in extractor.

    Return None also for session memories, which are many and short-lived. The function returns False if the model
    fails, or after MAX_QUESTIONS.
    """
    if context.backend.name == "builtin" or tier != Memory.Tier.LONG_TERM:
        return None
    answers: dict[tuple[str, str], bool] = {}

    def confirm(old: str, new: str) -> bool:
        if (old, new) not in answers and len(answers) < MAX_QUESTIONS:
            answers[old, new] = _is_replaced(context, old, new)
        return answers.get((old, new), False)

    return confirm


def comparison_for(context: Context) -> Compare | None:
    """Return the learned comparison if the built-in extractor is used, else None."""
    return _compare_locally if context.backend.name == "builtin" else None


def _compare_locally(pairs: Sequence[tuple[str, str, str]]) -> list[Comparison]:
    """Compare pairs with the local embedding model. If it is unavailable, treat them as unrelated."""
    try:
        return compare(pairs, get_embedder().embed)
    except EmbeddingUnavailable:
        return [UNRELATED] * len(pairs)


def _is_replaced(context: Context, old: str, new: str) -> bool:
    try:
        reply = context.ask("supersession", {"old": old, "new": new}, max_tokens=ANSWER_TOKENS)
    except GenerationFailed:
        return False
    return parse_update(reply) is True
