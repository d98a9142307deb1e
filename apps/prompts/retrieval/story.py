"""Entries from the story itself: recaps of finished scenes, and the note that repairs a contradiction."""

from uuid import UUID

from apps.chats.models import Character
from apps.memories.queries.scenes import finished_scenes
from apps.prompts.repair_notes import pending_note
from apps.prompts.slots.blocks import one_line
from apps.prompts.slots.entries import Entry
from apps.prompts.turns import UserTurn
from apps.prompts.witnessing import Viewpoint

MAX_SCENES = 5


def scene_entries(turn: UserTurn, character: Character | None) -> list[Entry]:
    """Return the recaps of the last scenes that ended before the turn, oldest first.

    In a group, only of scenes that the character witnessed from beginning to end.
    """
    view = Viewpoint(turn.chat, character)
    scenes = [scene for scene in finished_scenes(turn.chat) if scene.recap and scene.included]
    before = [scene for scene in scenes if scene.end < turn.index and view.has_heard_all(scene.start, scene.end)]
    return [
        Entry(
            id=scene.last.pk,
            tier="scenes",
            kind="recap",
            line=one_line(f"{scene.name}: {scene.recap}" if scene.name else scene.recap),
            priority=scene.end,
            score=0.0,
            why="always included",
            source_message=scene.last.pk,
        )
        for scene in before[-MAX_SCENES:]
    ]


def repair_entries(turn: UserTurn, character: Character | None) -> list[Entry]:
    """Return the note that repairs a contradiction, if it is about a reply before the turn and has no answer yet.

    A preview has the note of a reply to its turn too: the prompt of a new turn will have it. Another version of that
    reply is written without it. In a group it is for members who heard the reply; it is made of what all know.
    """
    note = pending_note(turn.chat)
    if note is None or note.source is None:
        return []
    if note.source.index >= turn.index and not turn.is_previewed:
        return []
    if turn.chat.is_group and not (note.parts.get("for_all") and _has_heard(turn, character, note.source.pk)):
        return []
    why = "repairs a contradiction"
    return [Entry(note.pk, "repair", "note", one_line(note.text), 1.0, 0.0, why, note.source_id)]


def _has_heard(turn: UserTurn, character: Character | None, message_id: UUID) -> bool:
    return not Viewpoint(turn.chat, character).unheard([message_id])
