"""Answer the tasks ``scene_recap`` and ``scene_break``: summarize a scene, and decide whether a turn begins one."""

from collections.abc import Sequence

from apps.builtin.ledger.people import people_changes
from apps.builtin.phrases import as_sentence
from apps.builtin.salience import SCENE, salience
from apps.builtin.scene_breaks import SceneTurn, begins_scene
from apps.builtin.statements import Statement, statements_of
from apps.llm.generation import GenerationRequest

MAX_SENTENCES = 3
MAX_SENTENCE_CHARS = 300
MIN_WORDS = 4


def scene_recap(request: GenerationRequest) -> str:
    """Return the sentence that best shows the setting and the two most salient others, in the order of the scene."""
    asserted = [statement for statement in statements_of(request.material) if not statement.is_question]
    short = [statement for statement in asserted if len(statement.quoted) <= MAX_SENTENCE_CHARS]
    candidates = [statement for statement in short if len(statement.sentence.words) >= MIN_WORDS] or short
    if not candidates:
        return "NONE"
    scores = [salience(statement.sentence, statement.named) for statement in candidates]
    opening = range(max(len(candidates) // 3, 1))
    setting = max(opening, key=lambda index: _setting_score(candidates[index]) + max(scores[index], -2.0) - 0.1 * index)
    others = [index for index in sorted(range(len(candidates)), key=lambda index: -scores[index]) if index != setting]
    chosen = sorted([setting, *others[: MAX_SENTENCES - 1]])
    return " ".join(dict.fromkeys(as_sentence(candidates[index].quoted) for index in chosen))


def _setting_score(item: Statement) -> float:
    """Return how well a sentence shows the location of a scene and the people in it."""
    return 2 * states_location(item) + min(len(SCENE.findall(item.text)), 3) + bool(item.named) + item.narrated


def states_location(statement: Statement) -> bool:
    """Return whether a sentence states somebody's location."""
    return any(change.field == "location" for change in people_changes(statement))


def setting_statements(statements: Sequence[Statement]) -> list[Statement]:
    """Return, as a list of at most one, the last sentence that states a location, else the last that describes one."""
    described = [statement for statement in statements if statement.narrated and len(SCENE.findall(statement.text)) > 1]
    return ([statement for statement in statements if states_location(statement)] or described)[-1:]


def scene_break(request: GenerationRequest) -> str:
    """Return YES if the turn begins a new scene, else NO."""
    items = (request.material[name] for name in ("previous", "turn"))
    previous, turn = (SceneTurn(item["speaker"], bool(item.get("is_user")), item["text"]) for item in items)
    return "YES" if begins_scene([previous], turn) else "NO"
