"""Which pairs of statements a model should be asked about. Without database access."""

import re
from enum import StrEnum
from itertools import chain, zip_longest

from apps.memories.verdicts.known_statements import CandidateBatch, Pair, comparison_key

# Pairs that a model is asked about for each candidate: those with the most similar statements.
MAX_PAIRS_PER_CANDIDATE = 3
_WORD = re.compile(r"\w+")


class Relation(StrEnum):
    """How a newer statement relates to an older one, as a model answers."""

    UPDATE = "update"
    SAME = "same"
    INDEPENDENT = "independent"


def uncertain_pairs(compared: CandidateBatch) -> list[Pair]:
    """Return the pairs of statements on one topic about which a model should be asked, each once.

    The nearest statement of each candidate comes first, then the second nearest of each, in case not all can be asked.
    """
    by_candidate: list[list[Pair]] = []
    for index, candidate in enumerate(compared.candidates):
        statements = compared.known_statements(index)
        if any(known.has_same_hash for known in statements):
            continue
        asked = [
            comparison_key(candidate, known)[:2]
            for known in statements
            if compared.thresholds.is_on_topic(known) and not _have_same_words(known.text, candidate.text)
        ]
        by_candidate.append(asked[:MAX_PAIRS_PER_CANDIDATE])
    by_rank = chain.from_iterable(zip_longest(*by_candidate))
    return list(dict.fromkeys(pair for pair in by_rank if pair is not None))


def _have_same_words(old: str, new: str) -> bool:
    """Return whether two texts differ only in case, whitespace and punctuation."""
    return _WORD.findall(old.casefold()) == _WORD.findall(new.casefold())
