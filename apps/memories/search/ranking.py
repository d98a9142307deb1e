"""Rank the hits of all retrievers in one list. Without database access.

The signals of a hit:

- ``vector``: cosine of its text and the query; ``lexical``: BM25 as a fraction of its maximum; ``window_vector`` and
  ``window_lexical``: the same for its text with the turns around it
- ``subject``: it is said by, or about, a subject of the query
- ``answer``: match of the question that it answers
- ``length``: its length against the mean of the user's turns, or of the others'
- ``question``: it is a question, which seldom answers one
- ``session``: the best score in its session
- ``recency``, ``graph``, ``instance``, ``importance``, ``pinned``: its age, the share of the query's entities that
  it names, the same instance, its importance, and whether the user pinned it
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from apps.memories.search.presets import RETRIEVERS, Preset

RECENCY_DECAY = 0.007  # per day; from entity-core: half after about 143 days
MAX_WEIGHT_SHIFT = 0.2  # share of the words' weight that moves to the vectors at a preference of 1
LEXICAL_RETRIEVERS = ("lexical", "window_lexical")
TRAITS = ("subject", "length", "question", "recency", "graph", "instance", "importance", "pinned")
SIGNALS = (*RETRIEVERS, *TRAITS, "answer", "session")
NO_SIGNALS = dict.fromkeys(SIGNALS, 0.0)


@dataclass(frozen=True)
class TurnPosition:
    """The position of a message in its chat, with its speaker."""

    chat: UUID
    session: int
    index: int
    speaker: str
    is_question: bool


@dataclass(frozen=True)
class Hit:
    """A message, memory or journal entry that a retriever found, with its signals. Only a message has a ``turn``."""

    id: UUID
    tier: str
    retrievers: dict[str, float]
    traits: dict[str, float] = field(default_factory=dict)
    turn: TurnPosition | None = None


@dataclass(frozen=True)
class RankedHit:
    """A hit with its score, 0 to 1, and the signals behind it."""

    hit: Hit
    score: float
    signals: dict[str, float]

    @property
    def id(self) -> UUID:
        return self.hit.id

    @property
    def is_memory(self) -> bool:
        return self.hit.turn is None and self.hit.tier != "journal"


def recency(age_days: float) -> float:
    """Return 1 for a new row, falling to 0 with age."""
    return 1 / (1 + RECENCY_DECAY * max(age_days, 0))


def relative_length(words: float, mean: float) -> float:
    """Return 0 for an empty text, 0.5 for one of the mean length, and up to 1 for longer ones."""
    return words / (words + mean) if words > 0 else 0.0


def rank(hits: Sequence[Hit], preset: Preset, vector_preference: float = 0.0) -> list[RankedHit]:
    """Return the hits, best first; equal ones in the order of their ids."""
    weights = _shift_weights(preset.weights, vector_preference if preset.adaptive else 0.0)
    matches = _match_scores(hits, weights, preset.relative)
    traits = [dict(hit.traits) for hit in hits]
    for signals, answer in zip(traits, _answer_scores(hits, matches), strict=True):
        signals["answer"] = answer
    scores = [
        match + sum(weights.get(name, 0) * value for name, value in signals.items())
        for match, signals in zip(matches, traits, strict=True)
    ]
    sessions = _session_scores(hits, scores)
    max_score = sum(weight for weight in weights.values() if weight > 0) or 1
    ranked = [
        RankedHit(
            hit,
            min(max((score + weights.get("session", 0) * session) / max_score, 0.0), 1.0),
            NO_SIGNALS | hit.retrievers | signals | {"session": session},
        )
        for hit, score, session, signals in zip(hits, scores, sessions, traits, strict=True)
    ]
    return sorted(ranked, key=lambda ranked_hit: (-ranked_hit.score, str(ranked_hit.hit.id)))


def _shift_weights(weights: Mapping[str, float], vector_preference: float) -> dict[str, float]:
    """Return the weights with a share of the words' weight moved to the vectors."""
    shift = MAX_WEIGHT_SHIFT * vector_preference
    factors = {name: 1 - shift if name in LEXICAL_RETRIEVERS else 1 + shift for name in RETRIEVERS}
    return {name: weight * factors.get(name, 1) for name, weight in weights.items()}


def _match_scores(hits: Sequence[Hit], weights: Mapping[str, float], relative: bool) -> list[float]:
    """Return the weighted sum of each hit's retrievers. With ``relative``, each is divided by its best value."""
    best = {name: max((hit.retrievers.get(name, 0) for hit in hits), default=0) for name in RETRIEVERS}
    scale = {name: best[name] if relative and best[name] > 0 else 1 for name in RETRIEVERS}
    values = [hit.retrievers.items() for hit in hits]
    return [sum(weights.get(name, 0) * max(value, 0) / scale[name] for name, value in items) for items in values]


def _answer_scores(hits: Sequence[Hit], matches: Sequence[float]) -> list[float]:
    """Return, for each hit by a subject that follows another speaker's question, that question's match, else 0."""
    by_position = {
        (turn.chat, turn.session, turn.index): (turn, match)
        for hit, match in zip(hits, matches, strict=True)
        if (turn := hit.turn)
    }

    def answer(hit: Hit) -> float:
        turn = hit.turn
        if turn is None or not hit.traits.get("subject"):
            return 0.0
        previous, match = by_position.get((turn.chat, turn.session, turn.index - 1), (None, 0.0))
        return match if previous and previous.is_question and previous.speaker != turn.speaker else 0.0

    return [answer(hit) for hit in hits]


def _session_scores(hits: Sequence[Hit], scores: Sequence[float]) -> list[float]:
    """Return the best score in each hit's session; for a memory its own score."""
    best: dict[tuple[UUID, int], float] = {}
    for hit, score in zip(hits, scores, strict=True):
        if turn := hit.turn:
            best[turn.chat, turn.session] = max(score, best.get((turn.chat, turn.session), score))
    return [
        best[hit.turn.chat, hit.turn.session] if hit.turn else score for hit, score in zip(hits, scores, strict=True)
    ]
