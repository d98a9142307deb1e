"""Tasks ``scene_recap`` and ``scene_break``: what happened in a scene, and whether a turn begins another."""

from collections.abc import Mapping, Sequence
from typing import Any

from apps.builtin.ledger_people import people_changes
from apps.builtin.phrases import as_sentence
from apps.builtin.salience import SCENE, salience
from apps.builtin.scene_breaks import Turn, begins_scene
from apps.builtin.statements import Statement, statements_of
from apps.llm.generation import GenerationRequest

SENTENCES = 3
MAX_SENTENCE = 300  # characters
LEAST_WORDS = 4


def scene_recap(request: GenerationRequest) -> str:
    """Print the sentence that shows where and who, and the two that tell most, in the order of the scene."""
    statements = [one for one in statements_of(request.material) if len(one.quoted) <= MAX_SENTENCE and not one.asks]
    shown = [one for one in statements if len(one.sentence.words) >= LEAST_WORDS] or statements
    if not shown:
        return "NONE"
    worth = [salience(one.sentence, one.named) for one in shown]
    opening = shown[: max(len(shown) // 3, 1)]
    setting = max(range(len(opening)), key=lambda place: _shows(shown[place]) + max(worth[place], -2.0) - 0.1 * place)
    telling = [place for place in sorted(range(len(shown)), key=lambda place: -worth[place]) if place != setting]
    places = sorted([setting, *telling[: SENTENCES - 1]])
    return " ".join(dict.fromkeys(as_sentence(shown[place].quoted) for place in places))


def _shows(one: Statement) -> float:
    """Return how well a sentence shows where the scene is set and who is in it."""
    return 2 * goes_somewhere(one) + min(len(SCENE.findall(one.text)), 3) + bool(one.named) + one.narrated


def goes_somewhere(statement: Statement) -> bool:
    """Return whether a sentence tells where somebody is."""
    return any(change.field == "location" for change in people_changes(statement))


def setting_of(statements: Sequence[Statement]) -> list[Statement]:
    """Return the last sentence that tells where somebody is, else the last that describes a place; none without."""
    described = [one for one in statements if one.narrated and len(SCENE.findall(one.text)) > 1]
    return ([one for one in statements if goes_somewhere(one)] or described)[-1:]


def scene_break(request: GenerationRequest) -> str:
    """Print whether the turn is the first of a new scene."""
    previous, turn = (_turn(request.material[name]) for name in ("previous", "turn"))
    return "YES" if begins_scene([previous], turn) else "NO"


def _turn(turn: Mapping[str, Any]) -> Turn:
    return Turn(name=turn["speaker"], is_user=bool(turn.get("is_user")), text=turn["text"])
