"""A picture of who stands to whom: people on an ellipse, a bent arrow from one to another. Pure."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

WIDTH, HEIGHT = 640, 360
MOST = 12  # people; more can't be told apart
BEND = 0.14  # of an arrow's length, so that those there and back are apart
GAP = 26  # between an arrow's end and the middle of a name
STRENGTH = {"low": 1, "medium": 2, "high": 3}


@dataclass(frozen=True)
class Person:
    name: str
    x: float
    y: float


@dataclass(frozen=True)
class Arrow:
    """``path`` is an SVG path; ``words`` stand at ``x``, ``y``; ``strength`` is that of the strongest, 1 to 3."""

    path: str
    words: str
    x: float
    y: float
    strength: int


@dataclass(frozen=True)
class Picture:
    people: list[Person]
    arrows: list[Arrow]
    width: int = WIDTH
    height: int = HEIGHT


def draw(pairs: Sequence[tuple[str, str, Sequence[tuple[str, str]]]]) -> Picture | None:
    """The picture of ``pairs``: who, to whom, and the words with their magnitudes. None where there is nobody to draw,
    or too many."""
    names = list(dict.fromkeys(name for subject, target, words in pairs if words for name in (subject, target)))
    if not 2 <= len(names) <= MOST:
        return None
    people = {name: _placed(name, number, len(names)) for number, name in enumerate(names)}
    arrows = [_arrow(people[subject], people[target], words) for subject, target, words in pairs if words]
    return Picture(list(people.values()), arrows)


def _placed(name: str, number: int, count: int) -> Person:
    angle = math.pi + 2 * math.pi * number / count
    x = WIDTH / 2 + (WIDTH / 2 - 90) * math.cos(angle)
    y = HEIGHT / 2 + (HEIGHT / 2 - 40) * math.sin(angle)
    return Person(name, round(x, 1), round(y, 1))


def _arrow(one: Person, other: Person, words: Sequence[tuple[str, str]]) -> Arrow:
    dx, dy = other.x - one.x, other.y - one.y
    length = math.hypot(dx, dy)
    middle_x = (one.x + other.x) / 2 - dy * BEND * 2
    middle_y = (one.y + other.y) / 2 + dx * BEND * 2
    start, end = _towards(one, middle_x, middle_y), _towards(other, middle_x, middle_y)
    path = f"M {start[0]} {start[1]} Q {middle_x:.1f} {middle_y:.1f} {end[0]} {end[1]}"
    strongest = sorted(words, key=lambda word: STRENGTH[word[1]], reverse=True)
    label = ", ".join(word for word, _ in strongest[:2])
    bend = BEND * length
    x = (one.x + other.x) / 2 - dy / length * bend
    y = (one.y + other.y) / 2 + dx / length * bend
    return Arrow(path, label, round(x, 1), round(y, 1), STRENGTH[strongest[0][1]])


def _towards(person: Person, x: float, y: float) -> tuple[float, float]:
    """Where an arrow to or from a person begins or ends: beside the name, on the way to ``x``, ``y``."""
    distance = math.hypot(x - person.x, y - person.y) or 1
    return (
        round(person.x + (x - person.x) / distance * GAP, 1),
        round(person.y + (y - person.y) / distance * GAP, 1),
    )
