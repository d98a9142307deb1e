"""Rank the hits of all retrievers in one list. Without database access.

The signals of a hit:

- ``vector``: cosine of its text and the query; ``lexical``: BM25 as a fraction of its maximum; ``window_vector`` and
  ``window_lexical``: the same for its text with the turns around it
- ``subject``: it is said by, or about, a subject of the query
- ``answer``: match of the question that it answers
- ``length``: its length against the mean of the user's turns, or of the others'
- ``time``: it is of the time that the query asks about, or speaks of it
- ``question``: it is a question, which seldom answers one
- ``session``: the best score in its session
- ``recency``, ``graph``, ``instance``, ``importance``, ``pinned``: its age, the share of the query's entities that
  it names, the same instance, its importance, and whether the user pinned it
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from apps.search.presets import RETRIEVERS, SearchPreset

RECENCY_DECAY = 0.007  # per day; from entity-core: half after about 143 days
MAX_WEIGHT_SHIFT = 0.2  # share of the words' weight that moves to the vectors at a preference of 1
LEXICAL_RETRIEVERS = ("lexical", "window_lexical")
TRAITS = ("subject", "time", "length", "question", "recency", "graph", "instance", "importance", "pinned")
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


def rank(hits: Sequence[Hit], preset: SearchPreset, vector_preference: float = 0.0) -> list[RankedHit]:
    """Return the hits, best first; equal ones in the order of their ids."""
    weights = _shift_weights(preset.weights, vector_preference if preset.adaptive else 0.0)
    matches = _match_scores(hits, weights, preset.relative)
    answers = _answer_scores(hits, matches)
    scores = _trait_scores(hits, matches, answers, weights)
    sessions = _session_scores(hits, scores)
    # Without the time, so that a question that names one doesn't lower all scores, and what has a least score is found.
    max_score = sum(weight for name, weight in weights.items() if weight > 0 and name != "time") or 1
    session_weight = weights.get("session", 0)
    ranked = [
        RankedHit(
            hit,
            min(max((score + session_weight * session) / max_score, 0.0), 1.0),
            {**NO_SIGNALS, **hit.retrievers, **hit.traits, "answer": answer, "session": session},
        )
        for hit, score, session, answer in zip(hits, scores, sessions, answers, strict=True)
    ]
    return sorted(ranked, key=lambda ranked_hit: (-ranked_hit.score, ranked_hit.hit.id.int))


def _shift_weights(weights: Mapping[str, float], vector_preference: float) -> dict[str, float]:
    """Return the weights with a share of the words' weight moved to the vectors, and the length's taken away."""
    shift = MAX_WEIGHT_SHIFT * vector_preference
    factors = {name: 1 - shift if name in LEXICAL_RETRIEVERS else 1 + shift for name in RETRIEVERS}
    factors["length"] = 1 - vector_preference  # a long reply of an assistant holds no more than a short question
    return {name: weight * factors.get(name, 1) for name, weight in weights.items()}


def _match_scores(hits: Sequence[Hit], weights: Mapping[str, float], relative: bool) -> list[float]:
    """Return the weighted sum of each hit's retrievers. With ``relative``, each is divided by its best value."""
    scores = [0.0] * len(hits)
    for name in RETRIEVERS:
        if weight := weights.get(name):
            values = [max(hit.retrievers.get(name, 0.0), 0.0) for hit in hits]
            scale = (max(values, default=0.0) or 1) if relative else 1
            scores = [score + weight * value / scale for score, value in zip(scores, values, strict=True)]
    return scores


def _trait_scores(
    hits: Sequence[Hit], matches: Sequence[float], answers: Sequence[float], weights: Mapping[str, float]
) -> list[float]:
    """Return the matches plus the weighted sums of the hits' traits and of the questions that they answer."""
    answer_weight = weights.get("answer", 0)
    trait_weights = [(name, weights[name]) for name in TRAITS if weights.get(name)]
    scores = []
    for hit, match, answer in zip(hits, matches, answers, strict=True):
        score = match + answer_weight * answer
        for name, weight in trait_weights:
            if value := hit.traits.get(name):
                score += weight * value
        scores.append(score)
    return scores


def _answer_scores(hits: Sequence[Hit], matches: Sequence[float]) -> list[float]:
    """Return, for each hit by a subject that follows another speaker's question, that question's match, else 0."""
    questions = {
        (turn.chat.int, turn.session, turn.index): (turn.speaker, match)
        for hit, match in zip(hits, matches, strict=True)
        if (turn := hit.turn) and turn.is_question
    }

    def answer(hit: Hit) -> float:
        turn = hit.turn
        if turn is None or not hit.traits.get("subject"):
            return 0.0
        speaker, match = questions.get((turn.chat.int, turn.session, turn.index - 1), (turn.speaker, 0.0))
        return match if speaker != turn.speaker else 0.0

    return [answer(hit) for hit in hits]


def _session_scores(hits: Sequence[Hit], scores: Sequence[float]) -> list[float]:
    """Return the best score in each hit's session; for a memory its own score."""
    # The int of a UUID is hashed several times as fast.
    sessions = [(turn.chat.int, turn.session) if (turn := hit.turn) else None for hit in hits]
    best: dict[tuple[int, int], float] = {}
    for session, score in zip(sessions, scores, strict=True):
        if session:
            best[session] = max(score, best.get(session, score))
    return [best[session] if session else score for session, score in zip(sessions, scores, strict=True)]
