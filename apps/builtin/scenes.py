"""The tasks ``scene_recap`` and ``scene_break``: what happened in a scene, and whether a turn begins another."""

from collections.abc import Mapping, Sequence
from typing import Any

from apps.builtin.phrases import as_sentence
from apps.builtin.salience import SCENE, salience
from apps.builtin.scene_breaks import Turn, begins_scene
from apps.builtin.setting import goes_somewhere
from apps.builtin.statements import Statement, statements_of
from apps.llm.generation import GenerationRequest

SENTENCES = 3
MAX_SENTENCE = 300  # characters
LEAST_WORDS = 4


def scene_recap(request: GenerationRequest) -> str:
    """The sentence that shows where and who, and the two that tell most, in the order of the scene."""
    statements = [one for one in statements_of(request.material) if len(one.quoted) <= MAX_SENTENCE and not one.asks]
    shown = [one for one in statements if len(one.sentence.words) >= LEAST_WORDS] or statements
    if not shown:
        return "NONE"
    places = [_establishing(shown[: max(len(shown) // 3, 1)])]
    for place in sorted(range(len(shown)), key=lambda place: -salience(shown[place].sentence, shown[place].named)):
        if len(places) < SENTENCES and place not in places:
            places.append(place)
    return " ".join(dict.fromkeys(as_sentence(shown[place].quoted) for place in sorted(places)))


def _establishing(statements: Sequence[Statement]) -> int:
    """The position of the sentence that shows best where the scene is set and who is in it."""

    def shows(place: int) -> float:
        one = statements[place]
        described = 2 * goes_somewhere(one) + min(len(SCENE.findall(one.text)), 3) + bool(one.named) + one.narrated
        return described + max(salience(one.sentence, one.named), -2.0) - 0.1 * place

    return max(range(len(statements)), key=shows)


def scene_break(request: GenerationRequest) -> str:
    """Whether the turn is the first of a new scene."""
    previous, turn = (_turn(request.material[name]) for name in ("previous", "turn"))
    return "YES" if begins_scene([previous], turn) else "NO"


def _turn(turn: Mapping[str, Any]) -> Turn:
    return Turn(name=turn["speaker"], is_user=bool(turn.get("is_user")), text=turn["text"])
