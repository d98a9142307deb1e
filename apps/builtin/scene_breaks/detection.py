"""Where scenes begin in a chat: by rules and, where they see nothing, by what is likely. Pure."""

import datetime as dt
import re
from collections.abc import Callable, Collection, Iterator, Sequence

from apps.builtin.scene_breaks import headings
from apps.builtin.scene_breaks.cue import CLEAR, ENOUGH, FAINT, Cue
from apps.builtin.scene_breaks.elsewhere_cues import elsewhere_cues
from apps.builtin.scene_breaks.layout import blocks_of
from apps.builtin.scene_breaks.narration import Sentence, narrated
from apps.builtin.scene_breaks.partings import END, parts
from apps.builtin.scene_breaks.place_cues import place_cues
from apps.builtin.scene_breaks.readings import recalls
from apps.builtin.scene_breaks.setting_cues import posture_cues, setting_cues
from apps.builtin.scene_breaks.sky_cues import sky_cues
from apps.builtin.scene_breaks.so_far import SoFar, so_far
from apps.builtin.scene_breaks.time_cues import time_cues
from apps.builtin.scene_breaks.turns import Break, Turn
from apps.builtin.scene_breaks.waking_cues import asleep, rises, waking_cues

PAUSE = dt.timedelta(hours=6)  # between the send dates of two messages
WINDOW = 8  # messages before a message, of which it may be a continuation
SHORT = 6  # words of a sentence after which the next one still opens a message
OPENING = 3  # sentences of a message that show where it is
LIKELY_ENOUGH = 0.4  # from which a message begins a scene that no rule sees
WITHIN = 0.9  # what a cue keeps of its weight in a sentence that begins no paragraph

_WORD = re.compile(r"[^\W\d_]{4,}")


def scene_starts(
    turns: Sequence[Turn],
    *,
    min_messages: int = 3,
    likely: Sequence[float] = (),
    agrees: Callable[[int], bool] = lambda position: True,
) -> list[int]:
    """The positions of the turns that begin a scene, in order. The first turn begins one as a matter of course and is
    not among them. A scene has ``min_messages`` at least: what would cut it shorter is passed over.

    ``likely`` is how likely each turn begins one (``weighing``); right after a beginning, rules alone tell another.
    ``agrees`` is asked about each position that would be one, and has the last word.
    """
    starts: list[int] = []
    for position in range(1, len(turns)):
        if position - (starts[-1] if starts else 0) >= min_messages:
            previous = turns[max(position - WINDOW, 0) : position]
            seen = begins_scene(previous, turns[position], turns[position + 1 : position + 2])
            follows = bool(starts) and starts[-1] == position - 1
            begins = seen is not None or (not follows and bool(likely) and likely[position] >= LIKELY_ENOUGH)
            if begins and agrees(position):
                starts.append(position)
    return starts


def begins_scene(previous: Sequence[Turn], turn: Turn, following: Sequence[Turn] = ()) -> Break | None:
    """Whether ``turn`` is the first message of a new scene, and what tells it; the last eight of ``previous`` count.

    A message ``following`` it, where there is one already, may show that a weak cue led nowhere.
    """
    previous = previous[-WINDOW:]
    if not previous:
        return None
    if marked := _marked(previous, turn):
        return Break(marked)
    settling = _told(previous[:-1], previous[-1]) if len(previous) > 1 else None
    if settling is None and len(previous) > 1 and _marked(previous[:-1], previous[-1]):
        settling = Cue(1.0, "")
    found = _told(previous, turn, settling)
    weak = found is not None and found.weight < CLEAR
    if found is None or (weak and following and _leads_nowhere([*previous, turn], following[0])):
        return None
    return Break(found.words)


def is_marked(previous: Sequence[Turn], turn: Turn) -> bool:
    """Whether something outside the story marks that ``turn`` begins a scene."""
    return bool(_marked(previous, turn))


def _leads_nowhere(told: Sequence[Turn], after: Turn) -> bool:
    """Whether the message ``after`` shows that a weak cue in the last of those ``told`` was a way out of the old scene,
    or no way at all."""
    return _goes_on(told[-2], told[-1], after) or any(cue.explicit for cue in cues_of(told, after))


def _marked(previous: Sequence[Turn], turn: Turn) -> str:
    """What marks the beginning of a scene outside the story: a separator, a heading, a place given, a long pause."""
    before = previous[-1]
    if turn.sent_at and before.sent_at and turn.sent_at - before.sent_at >= PAUSE:
        return "pause"
    if _separated(before, turn, previous):
        return "separator"
    blocks = list(blocks_of(turn.text))
    if any(headings.begins(block) for block in blocks):
        return "heading"
    place = _place(turn)
    return "heading" if place and place != next(filter(None, map(_place, reversed(previous))), "") else ""


def _separated(before: Turn, turn: Turn, previous: Sequence[Turn]) -> bool:
    """Whether a separator stands before something told in ``turn``, or closes the message before. Where a writer sets
    one into every message, it separates nothing."""
    own = [one for one in previous if one.name == turn.name][-2:]
    if "middle" in _separators(turn) and not (len(own) == 2 and all(any(_separators(one)) for one in own)):
        return True
    others = [one for one in previous[:-1] if one.name == before.name][-2:]
    closed = "end" in _separators(before) or any(headings.ends(one.text) for one in narrated(before)[-1:])
    return closed and not any("end" in _separators(one) for one in others)


def _separators(turn: Turn) -> list[str]:
    """``middle`` and ``end``: where separators stand in the message; one that is all of it begins a scene itself."""
    kinds = [block.kind for block in blocks_of(turn.text)]
    told = [number for number, kind in enumerate(kinds) if kind not in ("separator", "place")]
    last = told[-1] if told else -1
    return [
        "middle" if number < last or not told else "end" for number, kind in enumerate(kinds) if kind == "separator"
    ]


def _place(turn: Turn) -> str:
    return next((block.text for block in blocks_of(turn.text) if block.kind == "place" and block.text), "")


def _told(previous: Sequence[Turn], turn: Turn, settling: Cue | None = None) -> Cue | None:
    """The cue by which the message's narration begins a scene. Right after another beginning (``settling``) only an
    explicit one does, that says something else."""
    cues = list(cues_of(previous, turn))
    if settling:
        cues = [cue for cue in cues if cue.explicit and not _words(cue.words) <= _words(settling.words)]
    best: dict[str, Cue] = {}
    doubt = 1.0
    for cue in sorted(cues, key=lambda one: -one.weight):
        if cue.kind not in best:
            best[cue.kind] = cue
            doubt *= 1 - cue.weight
    strongest = max(best.values(), key=lambda one: one.weight, default=None)
    return Cue(1 - doubt, strongest.words) if strongest and 1 - doubt >= ENOUGH else None


def cues_of(previous: Sequence[Turn], turn: Turn) -> Iterator[Cue]:
    """All cues of what the message narrates, strong and weak."""
    before = previous[-1].text if previous else ""
    past = so_far(previous, turn)
    slept = asleep(before[-END:])
    rested = slept or parts(past.end)
    sentences = narrated(turn, previous)
    opens = bool(sentences) and opens_with(turn, sentences[0])
    if previous and opens:
        yield from _opening(sentences, past)
    remembered: set[int] = set()
    for sentence in sentences:
        if sentence.paragraph not in remembered and not sentence.text.endswith("?"):
            for cue in _of_sentence(sentence, past.people, before):
                shown = opens or sentence.place == 1 or cue.explicit or cue.kind != "elsewhere"
                if shown and not (cue.place and past.is_there(cue.place)):
                    raised = FAINT if rested and cue.kind == "sky" else 0
                    yield cue.scaled(WITHIN if sentence.place == 2 else 1, raised)
        if recalls(sentence.text):
            remembered.add(sentence.paragraph)
    if slept and rises(turn.text):
        yield Cue(CLEAR, "morning", kind="waking")


def opens_with(turn: Turn, sentence: Sentence) -> bool:
    """Whether the message begins with that sentence, not with speech."""
    return _WORD.findall(turn.text)[:1] == _WORD.findall(sentence.text)[:1]


def _opening(sentences: Sequence[Sentence], past: SoFar) -> Iterator[Cue]:
    """The cues of the setting that a message opens on, in its first sentence, or after a short one where
    a scene drew to its close."""
    late = past.going and sentences and len(sentences[0].text.split()) <= SHORT
    for sentence in sentences[: 2 if late else 1]:
        yield from setting_cues(sentence.text, past)
    for sentence in sentences[:OPENING]:
        yield from posture_cues(sentence.text, past)


def _of_sentence(sentence: Sentence, people: Collection[str], before: str) -> Iterator[Cue]:
    text = sentence.text
    for kind, cues in (
        ("time", time_cues(text)),
        ("sky", sky_cues(text)),
        ("waking", waking_cues(text, before)),
        ("place", place_cues(text, people)),
        ("elsewhere", elsewhere_cues(text, people)),
    ):
        yield from (cue.of(kind) for cue in cues)


def _goes_on(before: Turn, turn: Turn, after: Turn) -> bool:
    """Whether the message after takes up what was before the cue, and nothing of the message that has it."""
    old, new, later = _words(before.text), _words(turn.text), _words(after.text)
    return len(later & (old - new)) >= 3 and not later & (new - old)


def _words(text: str) -> set[str]:
    return {word.casefold() for word in _WORD.findall(text)}
