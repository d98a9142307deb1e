"""Answer the tasks ``scene_recap`` and ``scene_break``: summarize a scene, and decide whether a turn begins one."""

from apps.builtin.reading.phrases import as_sentence
from apps.builtin.reading.statements import Statement, statements_of
from apps.builtin.scene_breaks import SceneTurn, begins_scene
from apps.builtin.story.setting import states_location
from apps.builtin.worth.salience import SCENE, salience
from apps.llm.generation import GenerationRequest

MAX_SENTENCES = 3
MAX_SENTENCE_CHARS = 300
OPENING_SHARE = 3  # the setting is told in this part of a scene: the first third
MIN_COUNTED_SALIENCE = -2.0  # what tells the setting may be as dull as it likes
LATENESS = 0.1  # taken for each sentence before the one that tells the setting
LOCATION_SCORE, MAX_SETTING_WORDS = 2, 3


def scene_recap(request: GenerationRequest) -> str:
    """Return the sentence that best shows the setting and the two most salient others, in the order of the scene."""
    asserted = [statement for statement in statements_of(request.material) if not statement.is_question]
    short = [statement for statement in asserted if len(statement.quoted) <= MAX_SENTENCE_CHARS]
    candidates = [statement for statement in short if not statement.is_brief] or short
    if not candidates:
        return "NONE"
    scores = [salience(statement.sentence, statement.named) for statement in candidates]
    opening = range(max(len(candidates) // OPENING_SHARE, 1))

    def setting_score(index: int) -> float:
        return _setting_score(candidates[index]) + max(scores[index], MIN_COUNTED_SALIENCE) - LATENESS * index

    setting = max(opening, key=setting_score)
    others = [index for index in sorted(range(len(candidates)), key=lambda index: -scores[index]) if index != setting]
    chosen = sorted([setting, *others[: MAX_SENTENCES - 1]])
    return " ".join(dict.fromkeys(as_sentence(candidates[index].quoted) for index in chosen))


def _setting_score(item: Statement) -> float:
    """Return how well a sentence shows the location of a scene and the people in it."""
    setting_words = min(len(SCENE.findall(item.text)), MAX_SETTING_WORDS)
    return LOCATION_SCORE * states_location(item) + setting_words + bool(item.named) + item.narrated


def scene_break(request: GenerationRequest) -> str:
    """Return YES if the turn begins a new scene, else NO."""
    items = (request.material[name] for name in ("previous", "turn"))
    previous, turn = (SceneTurn(item["speaker"], bool(item.get("is_user")), item["text"]) for item in items)
    return "YES" if begins_scene([previous], turn) else "NO"
