"""Scenes: find where one ends and the next begins, and write a recap of the ended one."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from dataclasses import dataclass, replace

from django.utils.translation import gettext_lazy as _

from apps.chats.models import Message
from apps.extraction.parsers.free_text import parse_free_text
from apps.extraction.parsers.records import ParsedLines, Record, parse_lines, parse_numbers
from apps.extraction.parsers.text_cleanup import clean_line, clean_reply
from apps.extraction.prompts import examples
from apps.extraction.prompts.task import TEXT_PATTERN, Task
from apps.extraction.steps.asking import Answer
from apps.extraction.steps.context import Context, StageOutcome, Window, turns_material
from apps.extraction.steps.scene_detection import SceneTurn, scene_starts
from apps.extraction.steps.turns import messages_between, within_budget
from apps.extraction.tier import Form, Tier
from apps.memories.masking import masked
from apps.memories.models import Scene
from apps.memories.operations.scenes import Recap, write_recap, write_recap_of_break, write_scene
from apps.memories.queries.scenes import finished_scenes, last_scene_end

MAX_BEFORE = 60  # messages of the current scene that a detector reads before the new ones
MAX_RECAPS = 5  # recaps of scenes ended by hand, and of changed ones, that one step writes of each
MAX_RECAP, MAX_REASON = 1200, 160  # characters
_YES_NO = re.compile(
    r"(?P<negated>(?:\bnot|n['’]t|\bneither)\s+(?:an?\s+|the\s+)?)?\b(?:(?P<yes>yes)|(?P<no>no))\b", re.I
)


@dataclass(frozen=True)
class BreakLine:
    """A message, by its number, that begins a scene, and a recap of the scene before it."""

    number: int
    recap: str


@dataclass(frozen=True)
class EndedScene:
    """A scene that is not stored yet: it ends with ``last``, and ``opening`` begins the next one."""

    last: Message
    opening: Message
    recap: Recap

    @property
    def reason(self) -> str:
        return " ".join(masked(self.opening.mes).split())[:MAX_REASON]


def run(context: Context, window: Window) -> StageOutcome:
    """Find the scenes that end just before a message of the window."""
    by_rules = context.settings.scene_check == "rules" or not context.has_model
    return _outcome_of(context, window, lambda previous, message: by_rules or _is_confirmed(context, previous, message))


def run_from_reading(context: Context, window: Window, answer: Answer) -> StageOutcome:
    """Return the outcome of a reading, whose breaks count unless the setting says that rules decide.

    A recap of the reading is used for a scene of which the prompt showed at least half.
    """
    parsed = parse_breaks(answer.text)
    recaps = {item.number: item.recap for item in parsed.items}
    by_rules = context.settings.scene_check == "rules"
    starts = [] if by_rules else [message for number, message in window.turns.items() if number in recaps]
    outcome = _outcome_of(context, window, lambda previous, message: by_rules, recaps, starts)
    return replace(outcome, unused=parsed.unused)


def _outcome_of(
    context: Context,
    window: Window,
    accept: Callable[[Message, Message], bool],
    recaps: Mapping[int, str] | None = None,
    starts: Sequence[Message] = (),
) -> StageOutcome:
    """Return the outcome for the scenes of ``_ended_scenes``, and for stored ones that have no recap."""
    ended = _ended_scenes(context, window, accept, recaps or {}, starts)
    by_hand = [(last, _recap(context, last, ended)) for last in _breaks_without_recap(context, window)]
    missing_recaps = [(scene, _recap(context, last, ended)) for scene, last in _without_recap(context, window)]

    def write() -> Counter[str]:
        for last, recap in by_hand:
            write_recap_of_break(context.chat, last, recap, context.run.pk)
        for row, recap in missing_recaps:
            write_recap(row, recap)
        new = [
            write_scene(
                context.chat, scene.last, scene.opening, reason=scene.reason, recap=scene.recap, run_id=context.run.pk
            )
            for scene in ended
        ]
        return Counter(scenes=sum(new))

    return StageOutcome([write])


def _ended_scenes(
    context: Context,
    window: Window,
    accept: Callable[[Message, Message], bool],
    recaps: Mapping[int, str],
    starts: Sequence[Message],
) -> list[EndedScene]:
    """Return the scenes that end before ``starts`` or, without any, before the detector's that are accepted.

    ``recaps`` are those of the scenes before messages, by index.
    """
    start = _start_of_scene(context, window.messages[0].index)
    before = messages_between(context.chat, start, window.messages[0].index - 1, MAX_BEFORE)
    after = _read_after(context, window)
    shown = [message for message in [*before, *window.messages, *after] if message.mes.strip()]
    new = {*window.turns, *(message.index for message in after)}
    positions = _starts(context, shown, new, accept) if not starts else _far_enough(context, shown, starts)
    ended: list[EndedScene] = []
    for position in positions:
        last, opening = shown[position - 1], shown[position]
        if last.ends_scene:
            continue  # already marked by the user
        recap = _given_recap(context, window, last, ended, recaps, opening.index)
        ended.append(EndedScene(last, opening, recap or _recap(context, last, ended)))
    return ended


def _far_enough(context: Context, shown: Sequence[Message], starts: Sequence[Message]) -> list[int]:
    """Return the positions of ``starts`` that leave no scene shorter than the minimum."""
    indexes = {message.index for message in starts}
    positions: list[int] = []
    for position, message in enumerate(shown):
        since = position - (positions[-1] if positions else 0)
        if position and message.index in indexes and since >= context.settings.scene_min_messages:
            positions.append(position)
    return positions


def _given_recap(
    context: Context,
    window: Window,
    last: Message,
    ended: Sequence[EndedScene],
    recaps: Mapping[int, str],
    number: int,
) -> Recap | None:
    """Return the reading's recap of the scene that ends with ``last``, or None if it showed too little of the scene."""
    start = _start_of_scene(context, last.index, ended)
    seen, length = last.index + 1 - max(start, window.messages[0].index - context.earlier_count), last.index + 1 - start
    text = recaps.get(number, "")[:MAX_RECAP]
    return Recap(text, length) if text and 2 * seen >= length else None


def _read_after(context: Context, window: Window) -> list[Message]:
    """Return the message after the window if it was read before; an edit may decide whether it begins a scene."""
    rows = Message.objects.for_owner(context.owner_id).filter(chat=context.chat, index=window.messages[-1].index + 1)
    return list(rows.filter(progress__tiers__contains=["scenes"]).remembered().with_swipes())


def _starts(
    context: Context, shown: Sequence[Message], new: Set[int], accept: Callable[[Message, Message], bool]
) -> list[int]:
    """Return the positions in ``shown`` of messages whose index is in ``new`` and that begin a scene.

    ``accept`` decides about a message that the detector finds, given the one before it.
    """
    turns = [SceneTurn(name=row.name, is_user=row.is_user, text=row.mes, sent_at=row.sent_at) for row in shown]
    first = min((position for position, row in enumerate(shown) if row.index in new), default=0)

    def is_accepted(position: int) -> bool:
        # Those that have been read already were found to continue the scene.
        return shown[position].index in new and accept(shown[position - 1], shown[position])

    return scene_starts(turns, first, context.settings.scene_min_messages, is_accepted)


def _without_recap(context: Context, window: Window) -> list[tuple[Scene, Message]]:
    """Return scenes, each with its last message, whose recaps were removed because messages changed, newest first."""
    scenes = Scene.objects.for_owner(context.owner_id).filter(chat=context.chat, state=Scene.State.FOUND)
    scenes = scenes.filter(recap="", recapped=None, edited_by="", run__isnull=False, source__isnull=False)
    rows = scenes.select_related("source").order_by("-source__index")[:MAX_RECAPS]
    return [(scene, scene.source) for scene in rows if scene.source]


def _breaks_without_recap(context: Context, window: Window) -> list[Message]:
    """Return the last messages of scenes that a person ended up to the window and that have no recap, newest first."""
    scenes = [scene for scene in finished_scenes(context.chat) if scene.set_by_hand and not scene.recap]
    asked = Scene.objects.for_owner(context.owner_id).filter(chat=context.chat, recapped__isnull=False)
    asked_ends = set(asked.values_list("source", flat=True))
    scenes = [scene for scene in scenes if scene.end <= window.messages[-1].index and scene.last.pk not in asked_ends]
    return [scene.last for scene in scenes[::-1]][:MAX_RECAPS]


def _is_confirmed(context: Context, previous: Message, message: Message) -> bool:
    """Return whether the model agrees with the detector; an unreadable answer, or none, counts as yes."""
    material = dict(
        zip(("previous", "turn"), turns_material({row.index: row for row in (previous, message)}), strict=True)
    )
    return parse_yes_no(context.ask.unless_refused("scene_break", material)) is not False


def _start_of_scene(context: Context, index: int, ended: Sequence[EndedScene] = ()) -> int:
    """Return the index at which the scene of the message at ``index`` begins.

    ``ended`` are scenes of this step that are not yet stored, each with its last message.
    """
    ends = [scene.last.index for scene in ended if scene.last.index < index]
    return max([last_scene_end(context.chat, index), *ends]) + 1


def _recap(context: Context, last: Message, ended: Sequence[EndedScene]) -> Recap:
    """Ask for a recap of the scene that ends with ``last``; empty if it has no text, or if the model refuses."""
    start = _start_of_scene(context, last.index, ended)
    length = last.index + 1 - start
    turns = Window(messages_between(context.chat, start, last.index)).turns
    if not turns:
        return Recap("", length)
    shown = within_budget(turns, context.token_budget)
    material = {"turns": turns_material(shown)}
    reply = context.ask.unless_refused("scene_recap", material)  # the scene is kept without a recap
    return Recap(context.attributed(parse_free_text(reply, MAX_RECAP), material), length)


def parse_yes_no(reply: str) -> bool | None:
    """Return True for YES, False for NO, and None if the reply says neither or both.

    The answer is the first or last word of the reply, else a word in capitals, since in prose "no" is mostly part of
    a sentence.
    """
    text = clean_reply(reply).replace("_", " ")
    matches = [match for match in _YES_NO.finditer(text) if not match["negated"]]
    outer = [match for match in matches[:1] if not re.search(r"\w", text[: match.start()])]
    outer += [match for match in matches[-1:] if not re.search(r"\w", text[match.end() :])]
    answers = {bool(match["yes"]) for match in outer or [match for match in matches if match[0].isupper()]}
    return answers.pop() if len(answers) == 1 else None


def parse_breaks(reply: str) -> ParsedLines[BreakLine]:
    """Parse lines of a reading such as ``[break:6] recap``. Never raise."""
    return parse_lines(reply, _break)


def _break(record: Record) -> BreakLine | None:
    numbers = parse_numbers(record.tag or "") or parse_numbers(record.text[:20])
    return BreakLine(numbers[0], clean_line(record.text)) if numbers else None


SCENE_BREAK = Task(
    "scene_break",
    _("Whether a message begins a new scene."),
    ("transcript",),
    ("number",),
    max_tokens=5,
    words=("break", "scene break", "scene_break", "breaks"),
    example={"previous": examples.TURNS[2], "turn": examples.TURNS[3]},
)
SCENE_RECAP = Task("scene_recap", _("A scene in two or three sentences."), ("transcript",), max_tokens=200)
FORM = Form(
    "scenes",
    SCENE_BREAK,
    parse=parse_breaks,
    line_pattern=rf"\[break:[0-9]+\] {TEXT_PATTERN}",
)
TIER = Tier("scenes", run, (SCENE_BREAK, SCENE_RECAP), forms=(FORM,), from_reading=run_from_reading)
