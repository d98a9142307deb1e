"""Choose the thresholds of verdicts, and whether the model or the learned comparison decides uncertain ones."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any

from apps.english.comparison import Comparison, compare
from apps.extraction.parsers.answers import parse_relations
from apps.extraction.parsers.records import has_lines
from apps.extraction.settings.schema import Settings
from apps.extraction.stages.context import Context
from apps.llm.embeddings import EmbeddingUnavailable, get_embedder
from apps.llm.generation import Refused
from apps.memories.verdicts import Compare, Pair, Relation, Thresholds

ANSWER_TOKENS = 20
PAIR_TOKENS = 120  # of two statements in a question, at most about
MAX_PAIRS = 40  # in one question
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


def ask_about(context: Context, pairs: Sequence[Pair]) -> Mapping[Pair, Relation] | None:
    """Return the model's answers about pairs of statements; None for the built-in extractor.

    Pairs that the model refuses to compare have no answer.
    """
    if not context.has_model:
        return None
    answers: dict[Pair, Relation] = {}
    count = pairs_per_question(context)
    for start in range(0, len(pairs), count):
        asked = pairs[start : start + count]
        material = {"pairs": pairs_material(asked)}
        with suppress(Refused):
            reply = context.ask("pairs", material, max_tokens=ANSWER_TOKENS * len(asked), is_usable=has_lines)
            answers |= answers_from(reply, asked)
    return answers


def pairs_per_question(context: Context) -> int:
    """Return how many pairs the model is asked about at a time."""
    return max(min(int(context.token_budget / PAIR_TOKENS), MAX_PAIRS), 1)


def pairs_material(pairs: Sequence[Pair]) -> list[dict[str, Any]]:
    """Return pairs as the template values of prompts."""
    return [{"number": number, "old": old, "new": new} for number, (old, new) in enumerate(pairs, 1)]


def answers_from(reply: str, pairs: Sequence[Pair]) -> dict[Pair, Relation]:
    """Return the answers of a reply by pair."""
    relations = parse_relations(reply).items
    return {pairs[number - 1]: relation for number, relation in relations if 1 <= number <= len(pairs)}


def comparison_for(context: Context) -> Compare | None:
    """Return the learned comparison if the built-in extractor is used, else None."""
    return _compare_locally if context.backend.name == "builtin" else None


def _compare_locally(pairs: Sequence[tuple[str, str, str]]) -> list[Comparison]:
    """Compare pairs with the local embedding model. If it is unavailable, treat them as unrelated."""
    try:
        return compare(pairs, get_embedder().embed)
    except EmbeddingUnavailable:
        return [UNRELATED] * len(pairs)
