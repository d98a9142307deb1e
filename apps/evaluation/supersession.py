"""``--format supersession``: measure the engine's deduplication of pairs of statements, without a language model.

A line of the file is ``{"existing", "candidate", "kind", "expected"}``. The candidate is the later statement. It is
expected to replace the existing one (``superseded``), to repeat it (``duplicate``), or to be new (``passed``).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from apps.english.comparison import Comparison, compare
from apps.evaluation.datasets import UnusableDataset, required
from apps.evaluation.json_lines import read_json_lines
from apps.extraction.memories.lines import Candidate
from apps.llm.embeddings import get_embedder
from apps.memories.models import Memory
from apps.memories.verdicts.judging import ComparedCandidates, Outcome, judge
from apps.memories.verdicts.known_statements import Neighbour

SUPERSEDED, DUPLICATE, PASSED = LABELS = ("superseded", "duplicate", "passed")
LABEL_OF = {
    Outcome.REPLACES: SUPERSEDED,
    Outcome.RECONFIRMED: DUPLICATE,
    Outcome.REJECTED: DUPLICATE,
    Outcome.PASSED: PASSED,
}


@dataclass(frozen=True)
class Pair:
    """A labelled pair of statements, from ``line`` of its file."""

    line: int
    existing: str
    candidate: str
    kind: str
    expected: str


@dataclass(frozen=True)
class JudgedPair:
    """The verdict on a pair and its reason. ``similarity`` is the cosine of the two texts."""

    line: int
    kind: str
    expected: str
    got: str
    similarity: float
    reason: str
    existing: str
    candidate: str


def evaluate(file: Path, report: Callable[[str], None]) -> dict[str, Any]:
    """Return accuracy, confusion table and wrong pairs. Raise UnusableDataset, OSError, EmbeddingUnavailable."""
    pairs = [pair_of(value, line) for line, value in read_json_lines(file)]
    report(f"{len(pairs)} pairs")
    judged = judge_pairs(pairs)
    counts = Counter((pair.expected, pair.got) for pair in judged)
    correct = sum(counts[label, label] for label in LABELS)
    return {
        "pairs": len(judged),
        "right": correct,
        "accuracy": round(correct / len(judged), 4),
        "confusion": {expected: {got: counts[expected, got] for got in LABELS} for expected in LABELS},
        "contradictions_dropped": counts[SUPERSEDED, DUPLICATE],
        "independent_superseding": counts[PASSED, SUPERSEDED],
        "wrong": [asdict(pair) for pair in judged if pair.expected != pair.got],
    }


def pair_of(value: Any, line: int) -> Pair:
    """Return the pair of a line of the file. Raise UnusableDataset."""
    path = f"line {line}"
    pair = Pair(line, *(required(value, key, str, path) for key in ("existing", "candidate", "kind", "expected")))
    for key, known in (("kind", Memory.Kind.values), ("expected", LABELS)):
        if getattr(pair, key) not in known:
            raise UnusableDataset(f"{path}: {key!r} is not one of {', '.join(known)}.")
    for key in ("existing", "candidate"):
        if not getattr(pair, key).strip():
            raise UnusableDataset(f"{path}: {key!r} is empty.")
    return pair


def judge_pairs(pairs: Sequence[Pair]) -> list[JudgedPair]:
    """Judge each pair by itself, both texts as memories of its kind. Raise EmbeddingUnavailable."""
    embed = get_embedder().embed
    old_vectors, new_vectors = embed([pair.existing for pair in pairs]), embed([pair.candidate for pair in pairs])
    comparisons = dict(
        zip(pairs, compare([(pair.existing, pair.candidate, pair.kind) for pair in pairs], embed), strict=True)
    )
    return [
        _judge(pair, float(before @ after), after, comparisons[pair])
        for pair, before, after in zip(pairs, old_vectors, new_vectors, strict=True)
    ]


def _judge(pair: Pair, similarity: float, vector: np.ndarray[Any, Any], comparison: Comparison) -> JudgedPair:
    neighbour = Neighbour(UUID(int=pair.line), pair.kind, pair.existing, similarity, valid_from_index=0)
    [verdict] = judge(
        ComparedCandidates([Candidate(pair.kind, pair.candidate)], [[neighbour]], vector[None]),
        compare=lambda pairs: [comparison] * len(pairs),
    )
    return JudgedPair(
        line=pair.line,
        kind=pair.kind,
        expected=pair.expected,
        got=LABEL_OF[verdict.outcome],
        similarity=round(similarity, 3),
        reason=verdict.reason,
        existing=pair.existing,
        candidate=pair.candidate,
    )


def table(results: dict[str, Any]) -> str:
    """Return accuracy and confusion table as text, followed by the wrong pairs."""
    width = max(map(len, LABELS))
    changes, independent = (sum(results["confusion"][label].values()) for label in (SUPERSEDED, PASSED))
    lines = [
        f"accuracy {results['accuracy']:.3f} ({results['right']} of {results['pairs']})",
        f"contradictions dropped as duplicates: {results['contradictions_dropped']} of {changes}",
        f"independent statements that supersede another: {results['independent_superseding']} of {independent}",
        "",
        f"{'expected':<{width}}" + "".join(f"{label:>12}" for label in LABELS),
    ]
    lines += [
        f"{expected:<{width}}" + "".join(f"{row[got]:>12}" for got in LABELS)
        for expected, row in results["confusion"].items()
    ]
    lines.append(f"\n{len(results['wrong'])} wrong")
    for pair in results["wrong"]:
        lines.append("  line {line}: {expected}, got {got} ({similarity:.2f} {reason})".format(**pair))
        lines += [f"    {pair['existing']}", f"    {pair['candidate']}"]
    return "\n".join(lines)
