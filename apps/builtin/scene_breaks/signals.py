"""What of a message may show that it begins a scene, as numbers. Pure."""

import re
from collections.abc import Sequence

from apps.builtin.scene_breaks.detection import WINDOW, begins_scene, cues_of, is_marked, opens_with
from apps.builtin.scene_breaks.narration import narrated
from apps.builtin.scene_breaks.partings import leaves, parts
from apps.builtin.scene_breaks.readings import before_time_veto, before_veto, habitual, recalls
from apps.builtin.scene_breaks.so_far import so_far
from apps.builtin.scene_breaks.turns import Turn

OPENING = 2  # sentences that show what a message tells of
KINDS = ("time", "sky", "waking", "place", "elsewhere", "setting", "posture")
_GOES_ON = re.compile(r"(?:i|he|she|they|we|you|it|his|her|their|my|your|our)\b", re.IGNORECASE)
_SETS = re.compile(
    r"(?:at|in|on|by|after|before|when|once|as|back|outside|inside|across|two|three|the next|come|under|beneath|over"
    r"|near|past|until|during|with|without|halfway|upstairs|downstairs|late|early)\b",
    re.IGNORECASE,
)


def opening_of(turns: Sequence[Turn], position: int) -> str:
    """The first sentences that a message narrates; empty where it narrates nothing."""
    sentences = narrated(turns[position], _before(turns, position))
    return " ".join(sentence.text for sentence in sentences[:OPENING])


def signals(turns: Sequence[Turn], position: int, meaning: Sequence[float]) -> dict[str, float]:
    """The signals of a message that has others before it; ``meaning`` is the vector of its opening."""
    previous, turn = _before(turns, position), turns[position]
    sentences = narrated(turn, previous)
    first = sentences[0].text if sentences else ""
    cues = list(cues_of(previous, turn))
    end = so_far(previous, turn).end
    word = first.split()[0].strip(",.'").lower() if first.split() else ""
    names = {one.name.split()[0].lower() for one in turns if one.name.strip()}
    found = {
        "by_rules": begins_scene(previous, turn, turns[position + 1 : position + 2]) is not None,
        "marked": is_marked(previous, turn),
        "strongest": max((cue.weight for cue in cues), default=0),
        "explicit": any(cue.explicit for cue in cues),
        "opens": bool(sentences) and opens_with(turn, sentences[0]),
        "habit": habitual(first),
        "recalls": any(recalls(sentence.text) for sentence in sentences),
        "no_place_now": before_veto(first),
        "no_time_now": before_time_veto(first),
        "sets_out": leaves(end),
        "closes": parts(end),
        "goes_on": bool(_GOES_ON.match(first)),
        "sets_a_scene": bool(_SETS.match(first)),
        "begins_with_name": word.removesuffix("'s") in names,
        "has_name": any(name in first.lower() for name in names),
    }
    by_kind = {kind: max((cue.weight for cue in cues if cue.kind == kind), default=0) for kind in KINDS}
    return (
        {name: float(value) for name, value in found.items()}
        | {f"cue_{kind}": float(weight) for kind, weight in by_kind.items()}
        | {f"meaning_{number}": float(value) for number, value in enumerate(meaning)}
    )


def _before(turns: Sequence[Turn], position: int) -> Sequence[Turn]:
    return turns[max(0, position - WINDOW) : position]
