"""Scenes: find where one ends and the next begins, and write a recap of the ended one."""

from collections import Counter
from collections.abc import Sequence, Set

from apps.chats.models import Message
from apps.extraction.parsers.answers import parse_yes_no
from apps.extraction.parsers.free_text import parse_free_text
from apps.extraction.stages.context import NO_OUTCOME, Context, StageOutcome, Window, turns_material
from apps.extraction.stages.scene_detection import SceneTurn, scene_starts
from apps.extraction.stages.turns import messages_between, within_budget
from apps.memories.models import Scene
from apps.memories.operations.scenes import write_recap, write_recap_of_break, write_scene
from apps.memories.queries.scenes import finished_scenes

MAX_BEFORE = 60  # messages of the current scene that a detector reads before the new ones
MAX_BY_HAND = 5  # recaps of scenes ended by hand that one step writes
RECAP_TOKENS, ANSWER_TOKENS = 200, 5
MAX_RECAP, MAX_REASON = 1200, 160  # characters


def run(context: Context, window: Window) -> StageOutcome:
    """Find the scenes that end just before a message of the window."""
    if not window.turns:
        return NO_OUTCOME
    start = _start_of_scene(context, window.messages[0].index)
    before = messages_between(context.chat, start, window.messages[0].index - 1, MAX_BEFORE)
    after = _read_after(context, window)
    around = [*before, *window.messages, *after]
    shown = [message for message in around if not message.is_system and message.mes.strip()]
    ended: list[tuple[Message, str, str]] = []
    for position in _starts(context, shown, {*window.turns, *(message.index for message in after)}):
        last = shown[position - 1]
        if last.ends_scene:
            continue  # already marked by the user
        # The reason why a scene ends is the beginning of the message after it.
        ended.append((last, " ".join(shown[position].mes.split())[:MAX_REASON], _recap(context, last, ended)))
    by_hand = [(last, _recap(context, last, ended)) for last in _breaks_without_recap(context, window)]
    missing_recaps = [(scene, _recap(context, last, ended)) for scene, last in _without_recap(context, window)]

    def write() -> Counter[str]:
        for last, recap in by_hand:
            write_recap_of_break(context.chat, last, recap, context.run.pk)
        for row, recap in missing_recaps:
            write_recap(row, recap)
        new = [
            write_scene(context.chat, last, reason=reason, recap=recap, run_id=context.run.pk)
            for last, reason, recap in ended
        ]
        return Counter(scenes=sum(new))

    return StageOutcome(write)


def _read_after(context: Context, window: Window) -> list[Message]:
    """Return the message after the window if it was read before; an edit may decide whether it begins a scene."""
    rows = Message.objects.for_owner(context.owner_id).filter(chat=context.chat, index=window.messages[-1].index + 1)
    return list(rows.filter(progress__tiers__contains=["scenes"]).with_swipes())


def _starts(context: Context, shown: Sequence[Message], new: Set[int]) -> list[int]:
    """Return the positions in ``shown`` of messages that begin a scene and whose index is in ``new``."""
    turns = [SceneTurn(name=row.name, is_user=row.is_user, text=row.mes, sent_at=row.sent_at) for row in shown]
    first = min((position for position, row in enumerate(shown) if row.index in new), default=0)
    by_rules = context.settings.scene_check == "rules" or context.backend.name == "builtin"

    def accept(position: int) -> bool:
        if shown[position].index not in new:
            return False  # already read, and found to continue the scene
        return by_rules or _is_confirmed(context, shown[position - 1], shown[position])

    return scene_starts(turns, first, context.settings.scene_min_messages, accept)


def _without_recap(context: Context, window: Window) -> list[tuple[Scene, Message]]:
    """Return the window's scene, with its last message, if its recap was removed because a message changed."""
    scenes = Scene.objects.for_owner(context.owner_id).filter(chat=context.chat, state=Scene.State.FOUND)
    around = scenes.filter(source__index__gte=window.messages[0].index).select_related("source")
    scene = around.order_by("source__index").first()
    return [(scene, scene.source)] if scene and scene.source and not scene.recap and not scene.edited_by else []


def _breaks_without_recap(context: Context, window: Window) -> list[Message]:
    """Return the last messages of scenes that a person ended up to the window and that have no recap, newest first."""
    scenes = [scene for scene in finished_scenes(context.chat) if scene.set_by_hand and not scene.recap]
    return [scene.last for scene in scenes[::-1] if scene.end <= window.messages[-1].index][:MAX_BY_HAND]


def _is_confirmed(context: Context, previous: Message, message: Message) -> bool:
    """Return whether the model agrees with the detector; an unreadable answer counts as yes."""
    material = dict(
        zip(("previous", "turn"), turns_material({row.index: row for row in (previous, message)}), strict=True)
    )
    return parse_yes_no(context.ask("scene_break", material, max_tokens=ANSWER_TOKENS)) is not False


def _start_of_scene(context: Context, index: int, ended: Sequence[tuple[Message, str, str]] = ()) -> int:
    """Return the index at which the scene of the message at ``index`` begins.

    ``ended`` are scenes of this step that are not yet stored, each with its last message.
    """
    ends = {last.index for last, _, _ in ended}
    scenes = Scene.objects.for_owner(context.owner_id).filter(chat=context.chat, state=Scene.State.FOUND)
    ends |= set(scenes.filter(source__index__lt=index).values_list("source__index", flat=True))
    rows = Message.objects.for_owner(context.owner_id).filter(chat=context.chat, ends_scene=True, index__lt=index)
    ends |= set(rows.values_list("index", flat=True))
    return max((end for end in ends if end < index), default=-1) + 1


def _recap(context: Context, last: Message, ended: Sequence[tuple[Message, str, str]]) -> str:
    """Ask for a recap of the scene that ends with ``last``; empty if none of its messages is visible."""
    start = _start_of_scene(context, last.index, ended)
    turns = Window(messages_between(context.chat, start, last.index)).turns
    if not turns:
        return ""
    shown = within_budget(turns, context.token_budget)
    reply = context.ask("scene_recap", {"turns": turns_material(shown)}, max_tokens=RECAP_TOKENS)
    return parse_free_text(reply, MAX_RECAP)
