"""Answer the tasks ``scene_recap`` and ``scene_break``: summarize a scene, and decide whether a turn begins one."""

from collections.abc import Sequence

from apps.builtin.ledger.people import people_changes
from apps.builtin.phrases import as_sentence
from apps.builtin.salience import SCENE, salience
from apps.builtin.scene_breaks import SceneTurn, begins_scene
from apps.builtin.statements import Statement, statements_of
from apps.llm.generation import GenerationRequest

MAX_SENTENCES = 3
MAX_SENTENCE = 300  # characters
MIN_WORDS = 4


def scene_recap(request: GenerationRequest) -> str:
    """Return the sentence that best shows the setting and the two most salient others, in the order of the scene."""
    asserted = [one for one in statements_of(request.material) if not one.is_question]
    short = [one for one in asserted if len(one.quoted) <= MAX_SENTENCE]
    shown = [one for one in short if len(one.sentence.words) >= MIN_WORDS] or short
    if not shown:
        return "NONE"
    scores = [salience(one.sentence, one.named) for one in shown]
    opening = range(max(len(shown) // 3, 1))
    setting = max(opening, key=lambda index: _setting_score(shown[index]) + max(scores[index], -2.0) - 0.1 * index)
    others = [index for index in sorted(range(len(shown)), key=lambda index: -scores[index]) if index != setting]
    chosen = sorted([setting, *others[: MAX_SENTENCES - 1]])
    return " ".join(dict.fromkeys(as_sentence(shown[index].quoted) for index in chosen))


def _setting_score(one: Statement) -> float:
    """Return how well a sentence shows the location of a scene and the people in it."""
    return 2 * tells_location(one) + min(len(SCENE.findall(one.text)), 3) + bool(one.named) + one.narrated


def tells_location(statement: Statement) -> bool:
    """Return whether a sentence states somebody's location."""
    return any(change.field == "location" for change in people_changes(statement))


def setting_statements(statements: Sequence[Statement]) -> list[Statement]:
    """Return, as a list of at most one, the last sentence that states a location, else the last that describes one."""
    described = [one for one in statements if one.narrated and len(SCENE.findall(one.text)) > 1]
    return ([one for one in statements if tells_location(one)] or described)[-1:]


def scene_break(request: GenerationRequest) -> str:
    """Return YES if the turn begins a new scene, else NO."""
    turns = (request.material[name] for name in ("previous", "turn"))
    previous, turn = (SceneTurn(one["speaker"], bool(one.get("is_user")), one["text"]) for one in turns)
    return "YES" if begins_scene([previous], turn) else "NO"
