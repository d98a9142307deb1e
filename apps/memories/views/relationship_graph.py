"""Lay out the relationship graph: people on an ellipse, curved arrows between them. Without database access."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 400
MAX_PEOPLE = 12  # more are too crowded
BEND = 0.11  # share of an arrow's length, so that arrows in both directions don't overlap
HALF_LETTER_WIDTH = 4.6
HALF_LABEL_HEIGHT = 15  # with padding
MAX_WORD = 28  # characters
HALF_WORD_LETTER_WIDTH, WORD_HEIGHT = 3.8, 18
# Shares of an arrow's length at which its word may stand, the best first: those of crossing arrows don't overlap there.
WORD_POSITIONS = (0.3, 0.4, 0.22, 0.5, 0.6, 0.7)
STRENGTHS = {"low": 1, "medium": 2, "high": 3}


@dataclass(frozen=True)
class Person:
    name: str
    x: float
    y: float


@dataclass(frozen=True)
class Arrow:
    """``path`` is an SVG path; the strongest ``word`` is its label at ``x``, ``y``; ``strength`` is 1 to 3.

    The word is empty where all of its places are taken by other words or by names.
    """

    path: str
    word: str
    x: float
    y: float
    strength: int


@dataclass(frozen=True)
class RelationshipGraph:
    people: list[Person]
    arrows: list[Arrow]
    width: int = WIDTH
    height: int = HEIGHT


def lay_out_graph(pairs: Sequence[tuple[str, str, Sequence[tuple[str, str]]]]) -> RelationshipGraph | None:
    """Lay out ``pairs`` of subject, target, and words with magnitudes. Return None for too few or too many people."""
    names = list(dict.fromkeys(name for subject, target, words in pairs if words for name in (subject, target)))
    if not 2 <= len(names) <= MAX_PEOPLE:
        return None
    people = {name: _person_on_ellipse(name, number, len(names)) for number, name in enumerate(names)}
    arrows: list[Arrow] = []
    for subject, target, words in pairs:
        if words:
            arrows.append(_arrow(people[subject], people[target], words, [*people.values(), *arrows]))
    return RelationshipGraph(list(people.values()), arrows)


def _person_on_ellipse(name: str, number: int, count: int) -> Person:
    angle = math.pi + 2 * math.pi * number / count
    x = WIDTH / 2 + (WIDTH / 2 - 70) * math.cos(angle)
    y = HEIGHT / 2 + (HEIGHT / 2 - 30) * math.sin(angle)
    return Person(name, round(x, 1), round(y, 1))


def _arrow(
    subject: Person, target: Person, words: Sequence[tuple[str, str]], others: Sequence[Person | Arrow]
) -> Arrow:
    dx, dy = target.x - subject.x, target.y - subject.y
    bend = ((subject.x + target.x) / 2 - dy * BEND * 2, (subject.y + target.y) / 2 + dx * BEND * 2)
    start, end = _point_on_label_edge(subject, *bend), _point_on_label_edge(target, *bend)
    path = f"M {start[0]:.1f} {start[1]:.1f} Q {bend[0]:.1f} {bend[1]:.1f} {end[0]:.1f} {end[1]:.1f}"
    strongest, magnitude = max(words, key=lambda word: STRENGTHS[word[1]])
    word = strongest if len(strongest) <= MAX_WORD else f"{strongest[: MAX_WORD - 1]}…"
    for share in WORD_POSITIONS:
        x, y = (_coordinate_on_curve(*points, share) for points in zip(start, bend, end, strict=True))
        arrow = Arrow(path, word, x, y, STRENGTHS[magnitude])
        if not any(_overlap(arrow, other) for other in others):
            return arrow
    return Arrow(path, "", *start, STRENGTHS[magnitude])


def _overlap(arrow: Arrow, other: Person | Arrow) -> bool:
    """Return whether the word of an arrow is on another one's, or on a name."""
    if isinstance(other, Person):
        half_width, height = len(other.name) * HALF_LETTER_WIDTH, (WORD_HEIGHT + HALF_LABEL_HEIGHT) * 0.75
    else:
        half_width, height = len(other.word) * HALF_WORD_LETTER_WIDTH, WORD_HEIGHT
    width = len(arrow.word) * HALF_WORD_LETTER_WIDTH + half_width
    return bool(half_width) and abs(arrow.x - other.x) < width and abs(arrow.y - other.y) < height


def _point_on_label_edge(person: Person, x: float, y: float) -> tuple[float, float]:
    """Return the point on the edge of a person's label in the direction of ``x``, ``y``."""
    dx, dy = x - person.x, y - person.y
    width = len(person.name) * HALF_LETTER_WIDTH + 8
    share = min(width / abs(dx) if dx else math.inf, HALF_LABEL_HEIGHT / abs(dy) if dy else math.inf)
    return person.x + dx * share, person.y + dy * share


def _coordinate_on_curve(start: float, bend: float, end: float, t: float) -> float:
    """Return a coordinate of a quadratic Bézier curve at the parameter ``t``, 0 to 1."""
    return round((1 - t) ** 2 * start + 2 * (1 - t) * t * bend + t**2 * end, 1)
