"""Turns what the arms found into one ranked list. Pure.

The signals of a candidate:

- ``vector``, ``lexical``: how near its text is in meaning (cosine), and which share of the query's words, weighed by
  their rarity, it holds (BM25 as a fraction of the most that it can reach); ``window_vector`` and
  ``window_lexical``: the same of its text with the turns around it
- ``subject``: it is said by, or about, the one whom the query asks about
- ``answer``: how well the question that it answers matches the query
- ``length``: how long it is beside what its side of the conversation usually says
- ``question``: it asks, and so tells little
- ``session``: the best score in its sitting
- ``recency``, ``graph``, ``instance``, ``importance``, ``pinned``: its age, the query's entities among its own, the
  same embodiment, what the extraction thought of it, and what the user did
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from apps.memories.search.presets import ARMS, Preset

RECENCY_DECAY = 0.007  # a day; from entity-core: half after about 143 days
LEAD_SHIFT = 0.2  # of the words' weight goes to the vectors where these lead
LEXICAL = ("lexical", "window_lexical")
TRAITS = ("subject", "length", "question", "recency", "graph", "instance", "importance", "pinned")
SIGNALS = (*ARMS, *TRAITS, "answer", "session")
NOTHING = dict.fromkeys(SIGNALS, 0.0)


@dataclass(frozen=True)
class Turn:
    """Where a message stands in its chat."""

    chat: UUID
    session: int
    index: int
    speaker: str
    is_question: bool


@dataclass(frozen=True)
class Candidate:
    """Something found, with its measured signals. ``turn`` is None for a memory."""

    id: UUID
    tier: str
    arms: dict[str, float]
    traits: dict[str, float] = field(default_factory=dict)
    turn: Turn | None = None


@dataclass(frozen=True)
class Ranked:
    """A candidate with its score, 0 to 1, and all signals that went into it."""

    candidate: Candidate
    score: float
    signals: dict[str, float]


def recency(age_days: float) -> float:
    """1 for what is new, falling to 0 with age."""
    return 1 / (1 + RECENCY_DECAY * max(age_days, 0))


def relative_length(words: float, usual: float) -> float:
    """0 for an empty text, one half for one of the usual length, towards 1 beyond."""
    return words / (words + usual) if words > 0 else 0.0


def rank(candidates: Sequence[Candidate], preset: Preset, lead: float = 0.0) -> list[Ranked]:
    """The candidates, best first; equal ones in the order of their ids. ``lead``: see ``lead_of_vectors``."""
    weights = _shifted(preset.weights, lead if preset.adaptive else 0.0)
    matches = _matches(candidates, weights, preset.relative)
    traits = [dict(candidate.traits) for candidate in candidates]
    for signals, answer in zip(traits, _answers(candidates, matches), strict=True):
        signals["answer"] = answer
    own = [
        match + sum(weights.get(name, 0) * value for name, value in signals.items())
        for match, signals in zip(matches, traits, strict=True)
    ]
    sessions = _best_of_sessions(candidates, own)
    reach = sum(weight for weight in weights.values() if weight > 0) or 1
    ranked = [
        Ranked(
            candidate,
            min(max((score + weights.get("session", 0) * session) / reach, 0.0), 1.0),
            NOTHING | candidate.arms | signals | {"session": session},
        )
        for candidate, score, session, signals in zip(candidates, own, sessions, traits, strict=True)
    ]
    return sorted(ranked, key=lambda one: (-one.score, str(one.candidate.id)))


def _shifted(weights: Mapping[str, float], lead: float) -> dict[str, float]:
    """The weights, with a share of the words' given to the vectors."""
    moved = LEAD_SHIFT * lead
    factors = {arm: 1 - moved if arm in LEXICAL else 1 + moved for arm in ARMS}
    return {name: weight * factors.get(name, 1) for name, weight in weights.items()}


def _matches(candidates: Sequence[Candidate], weights: Mapping[str, float], relative: bool) -> list[float]:
    """The weighted sum of the arms; ``relative`` measures each arm against its best hit."""
    best = {arm: max((candidate.arms.get(arm, 0) for candidate in candidates), default=0) for arm in ARMS}
    scale = {arm: best[arm] if relative and best[arm] > 0 else 1 for arm in ARMS}
    return [
        sum(weights.get(arm, 0) * max(value, 0) / scale[arm] for arm, value in candidate.arms.items())
        for candidate in candidates
    ]


def _answers(candidates: Sequence[Candidate], matches: Sequence[float]) -> list[float]:
    """For a turn of the query's subject that follows another's question: that question's match."""
    places = {_place(c.turn): (c.turn, match) for c, match in zip(candidates, matches, strict=True) if c.turn}

    def answer(candidate: Candidate) -> float:
        turn = candidate.turn
        if turn is None or not candidate.traits.get("subject"):
            return 0.0
        asked, match = places.get((turn.chat, turn.session, turn.index - 1), (None, 0.0))
        return match if asked and asked.is_question and asked.speaker != turn.speaker else 0.0

    return [answer(candidate) for candidate in candidates]


def _place(turn: Turn) -> tuple[UUID, int, int]:
    return turn.chat, turn.session, turn.index


def _best_of_sessions(candidates: Sequence[Candidate], scores: Sequence[float]) -> list[float]:
    """The best score among the turns of the same sitting; a memory stands alone."""
    best: dict[tuple[UUID, int], float] = {}
    for candidate, score in zip(candidates, scores, strict=True):
        if turn := candidate.turn:
            best[turn.chat, turn.session] = max(score, best.get((turn.chat, turn.session), score))
    return [
        best[candidate.turn.chat, candidate.turn.session] if candidate.turn else score
        for candidate, score in zip(candidates, scores, strict=True)
    ]
