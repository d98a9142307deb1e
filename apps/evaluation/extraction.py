"""``--format extraction``: measure how many annotated turns the built-in extractor covers, compared with baselines.

Every method keeps as many memories of a session as the extractor does, at most one for each sentence. Two memories of
one turn cover it only once, so a second comparison keeps the same number of distinct turns.
"""

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from apps.builtin.reading.sentences import sentences_of
from apps.builtin.tasks import selection
from apps.builtin.worth.salience import LONG_TERM, SESSION
from apps.evaluation.annotations import Session, read_sessions
from apps.evaluation.datasets import read_json
from apps.extraction.memories.lines import KINDS, parse_memories
from apps.extraction.settings.schema import DEFAULTS
from apps.llm.generation import GenerationRequest

BUILT_IN = "built-in"
TASKS = {SESSION: selection.session, LONG_TERM: selection.long_term}
SEEDS = range(20)
MEASURES = ("coverage", "same turns", "precision", "turns")


@dataclass(frozen=True)
class Sample:
    """One result of a method for a session.

    ``sources`` are the indices of the turns that its memories come from. ``distinct`` are as many distinct turns
    as the extractor's memories have.
    """

    session: Session
    sources: Sequence[int]
    distinct: Sequence[int]


def evaluate(file: Path, report: Callable[[str], None]) -> dict[str, Any]:
    """Return the figures of every method, over all sessions and by conversation. Raise UnusableDataset, OSError."""
    sessions = read_sessions(read_json(file))
    results: dict[str, list[list[Sample]]] = {}
    for session in sessions:
        for method, samples in _samples_by_method(session).items():
            results.setdefault(method, []).append(samples)
    conversations = list(dict.fromkeys(session.conversation for session in sessions))
    report(f"{len(conversations)} conversations, {len(sessions)} sessions")
    return {
        "sessions": len(sessions),
        "annotated_turns": sum(len(session.annotated) for session in sessions),
        "memories_a_session": round(fmean(len(sample.sources) for [sample] in results[BUILT_IN]), 2),
        "methods": _figures(results),
        "conversations": {name: _figures(results, name) for name in conversations},
    }


def _samples_by_method(session: Session) -> dict[str, list[Sample]]:
    """Return the results of each method for a session: one for each seed of the random method, else one."""
    sources = _extracted_turns(session)
    pool = [
        sentence
        for number, turn in enumerate(session.turns)
        for sentence in sentences_of(number, turn.speaker, turn.text)
    ]
    orders = {"random": [random.Random(seed).sample(pool, len(pool)) for seed in SEEDS]}  # noqa: S311
    orders["longest"] = [sorted(pool, key=lambda sentence: -len(sentence.text))]
    orders["first"] = [pool]
    baselines = {
        method: [_baseline_sample(session, [sentence.turn for sentence in order], sources) for order in samples]
        for method, samples in orders.items()
    }
    return {BUILT_IN: [Sample(session, sources, sources)], **baselines}


def _extracted_turns(session: Session) -> list[int]:
    """Return the turn of each memory that the extractor finds in a session, read in chunks as in a run."""
    turn_of_text: dict[str, int] = {}
    for start in range(0, len(session.turns), DEFAULTS.chunk):
        numbered = list(enumerate(session.turns))[start : start + DEFAULTS.chunk]
        turns = [
            {"number": number, "speaker": turn.speaker, "is_user": turn.is_user, "text": turn.text}
            for number, turn in numbered
        ]
        participants = sorted({turn.speaker for _, turn in numbered})
        material = {"turns": turns, "participants": participants, "per_kind": DEFAULTS.new_per_kind}
        for tier, task in TASKS.items():
            reply = task(GenerationRequest(task=tier, messages=[], material=material))
            for candidate in parse_memories(reply, KINDS[tier]).items:
                turn_of_text.setdefault(candidate.text, candidate.sources[0])
    return list(turn_of_text.values())


def _baseline_sample(session: Session, order: Sequence[int], sources: Sequence[int]) -> Sample:
    """Return the first turns of ``order``: as many as ``sources``, and as many distinct ones as ``sources`` has."""
    distinct = list(dict.fromkeys(order))
    return Sample(session, order[: len(sources)], distinct[: len(set(sources))])


def _figures(results: dict[str, list[list[Sample]]], conversation: str | None = None) -> dict[str, dict[str, float]]:
    return {
        method: _measured([samples for samples in sessions if conversation in (None, samples[0].session.conversation)])
        for method, sessions in results.items()
    }


def _measured(sessions: Sequence[Sequence[Sample]]) -> dict[str, float]:
    """Return the MEASURES of a method, each a mean over its samples.

    ``coverage`` and ``same turns``, which is the coverage at an equal number of turns, are shares of the annotated
    turns, ``precision`` is a share of the memories, ``turns`` the number of turns of a session that they come from.
    """
    annotated = sum(len(samples[0].session.annotated) for samples in sessions)
    memories = sum(len(samples[0].sources) for samples in sessions)
    covered = _total(sessions, lambda sample: len(sample.session.annotated.intersection(sample.sources)))
    distinct = _total(sessions, lambda sample: len(sample.session.annotated.intersection(sample.distinct)))
    right = _total(sessions, lambda sample: sum(turn in sample.session.annotated for turn in sample.sources))
    turns = _total(sessions, lambda sample: len(set(sample.sources)))
    values = (covered / annotated, distinct / annotated, right / max(memories, 1), turns / len(sessions))
    return {name: round(value, 4) for name, value in zip(MEASURES, values, strict=True)}


def _total(sessions: Sequence[Sequence[Sample]], count: Callable[[Sample], int]) -> float:
    """Return the sum over the sessions of the mean over their samples."""
    return sum(fmean(map(count, samples)) for samples in sessions)


def table(results: dict[str, Any]) -> str:
    """Return the figures over all sessions as a table with a line for each method."""
    lines = [" " * 10 + "".join(f"{name:>12}" for name in MEASURES)]
    for method, row in results["methods"].items():
        lines.append(f"{method:<10}" + "".join(f"{row[name]:>12.3f}" for name in MEASURES))
    lines.append(
        f"{results['sessions']} sessions, {results['annotated_turns']} annotated turns, "
        f"{results['memories_a_session']:.2f} memories a session"
    )
    return "\n".join(lines)
