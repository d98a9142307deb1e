"""``--format verdicts``: count the statements of a real chat that are judged to replace or repeat another.

The file is a SillyTavern chat (JSONL) or LoCoMo's JSON. The built-in extractor's memories are judged one after the
other as in a run, each against the nearest ones of the same tier and kind. Replaced and repeated memories are no
longer compared. The pairs, printed with ``--json``, are meant for manual review.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np

from apps.builtin.tasks import selection
from apps.english.comparison import compare
from apps.evaluation.annotations import SessionTurn, read_sessions
from apps.evaluation.datasets import UnusableDataset, read_json
from apps.evaluation.json_lines import read_json_lines
from apps.evaluation.supersession import LABEL_OF, LABELS, PASSED, SUPERSEDED
from apps.extraction.memories.lines import parse_memories
from apps.extraction.settings.schema import DEFAULTS
from apps.llm.embeddings import get_embedder
from apps.llm.generation import GenerationRequest
from apps.memories.candidates import Candidate
from apps.memories.models import Memory
from apps.memories.verdicts.judging import ComparedCandidates, Outcome, judge
from apps.memories.verdicts.known_statements import Neighbour
from apps.memories.verdicts.neighbours import MAX_NEIGHBOURS

TASKS = {Memory.Tier.SESSION: selection.session, Memory.Tier.LONG_TERM: selection.long_term}


@dataclass(frozen=True)
class JudgedMemory:
    """A memory that repeats or replaces another."""

    tier: str
    kind: str
    verdict: str
    similarity: float
    existing: str
    candidate: str


def evaluate(file: Path, report: Callable[[str], None]) -> dict[str, Any]:
    """Count the verdicts on a chat's memories. Raise UnusableDataset, OSError, EmbeddingUnavailable."""
    counts: Counter[str] = Counter()
    pairs: list[JudgedMemory] = []
    for turns in _conversations(file):
        memories = _extract_memories(turns)
        report(f"{len(turns)} messages, {sum(map(len, memories.values()))} memories")
        for tier, candidates in memories.items():
            for label, judged in _judge_candidates(tier, candidates):
                counts[label] += 1
                pairs += [judged] if judged else []
    kept = counts[PASSED] + counts[SUPERSEDED]
    return {
        "memories": counts.total(),
        "kept": kept,
        "verdicts": {label: counts[label] for label in LABELS},
        "superseded_per_100_kept": round(100 * counts[SUPERSEDED] / max(1, kept), 2),
        "pairs": [asdict(pair) for pair in pairs],
    }


def _conversations(file: Path) -> list[list[SessionTurn]]:
    if file.suffix != ".jsonl":
        by_name: dict[str, list[SessionTurn]] = {}
        for session in read_sessions(read_json(file)):
            by_name.setdefault(session.conversation, []).extend(session.turns)
        return list(by_name.values())
    rows = [row for _, row in read_json_lines(file) if isinstance(row, dict) and isinstance(row.get("mes"), str)]
    if not rows:
        raise UnusableDataset("no line is a message.")
    return [[SessionTurn(str(row.get("name") or ""), row.get("is_user") is True, row["mes"]) for row in rows]]


def _extract_memories(turns: Sequence[SessionTurn]) -> dict[str, list[Candidate]]:
    """Return the extractor's memories by tier, extracted chunk by chunk as in a run."""
    participants = sorted({turn.speaker for turn in turns})
    memories: dict[str, list[Candidate]] = {tier: [] for tier in TASKS}
    for start in range(0, len(turns), DEFAULTS.chunk):
        chunk = [
            {"number": number, "speaker": turn.speaker, "is_user": turn.is_user, "text": turn.text}
            for number, turn in list(enumerate(turns))[start : start + DEFAULTS.chunk]
        ]
        material = {"turns": chunk, "participants": participants, "per_kind": DEFAULTS.new_per_kind}
        for tier, task in TASKS.items():
            reply = task(GenerationRequest(task=tier, messages=[], material=material))
            memories[tier] += parse_memories(reply, Memory.Kind.values).items
    return memories


def _judge_candidates(tier: str, candidates: Sequence[Candidate]) -> Iterator[tuple[str, JudgedMemory | None]]:
    """Judge each candidate against the earlier ones that are kept."""
    embed = get_embedder().embed
    vectors: np.ndarray = embed([candidate.text for candidate in candidates]) if candidates else np.zeros((0, 1))
    active: list[int] = []
    for number, candidate in enumerate(candidates):
        neighbours = sorted(
            (
                Neighbour(
                    UUID(int=other),  # the candidate's number, in place of the id of a stored memory
                    candidate.kind,
                    candidates[other].text,
                    float(vectors[other] @ vectors[number]),
                    valid_from_index=0,
                )
                for other in active
                if candidates[other].kind == candidate.kind
            ),
            key=lambda neighbour: -neighbour.similarity,
        )[:MAX_NEIGHBOURS]
        [verdict] = judge(
            ComparedCandidates([candidate], [neighbours], vectors[number : number + 1]),
            compare=lambda pairs: compare(pairs, embed),
        )
        if verdict.outcome in (Outcome.PASSED, Outcome.REPLACES):
            active.append(number)
        if verdict.outcome == Outcome.REPLACES and verdict.target:
            active.remove(verdict.target.int)
        label = LABEL_OF[verdict.outcome]
        target = next((neighbour for neighbour in neighbours if neighbour.id == verdict.target), None)
        if target is None:
            yield label, None
        else:
            similarity = round(target.similarity, 3)
            yield label, JudgedMemory(tier, candidate.kind, label, similarity, target.text, candidate.text)


def table(results: dict[str, Any]) -> str:
    """Return the counts as text; only ``--json`` shows the pairs."""
    verdicts = ", ".join(f"{count} {label}" for label, count in results["verdicts"].items())
    return (
        f"{results['memories']} memories, {results['kept']} kept: {verdicts}\n"
        f"superseded per 100 memories kept: {results['superseded_per_100_kept']:.2f}"
    )
