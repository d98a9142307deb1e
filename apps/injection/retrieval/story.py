"""Entries from the story itself: recaps of finished scenes, and the note that repairs a contradiction."""

from apps.chats.models import Character, Message
from apps.injection.retrieval.entries import Entry
from apps.injection.retrieval.witnessing import witnessed_all
from apps.injection.slots.blocks import one_line
from apps.injection.turns import UserTurn
from apps.memories.models import VersionedText
from apps.memories.queries.scenes import finished_scenes
from apps.memories.queries.texts import current_version
from apps.memories.witnesses import participant_of

MAX_SCENES = 5


def scene_entries(turn: UserTurn, character: Character | None) -> list[Entry]:
    """Return the recaps of the last scenes that ended before the turn, oldest first.

    In a group, only of scenes that the character witnessed from beginning to end.
    """
    scenes = [scene for scene in finished_scenes(turn.chat) if scene.recap and scene.included]
    before = [
        scene for scene in scenes if scene.end < turn.index and witnessed_all(turn, character, scene.start, scene.end)
    ]
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
    """Return the note that repairs a contradiction, if the turn is the first one after the note was written.

    A group's note may tell what the character did not witness, so it is left out there.
    """
    note = current_version(turn.chat, VersionedText.Kind.REPAIR)
    if note is None or participant_of(turn.chat, character) is not None:
        return []
    later = Message.objects.for_owner(turn.owner_id).filter(
        chat=turn.chat, is_user=True, is_system=False, created_at__gt=note.created_at
    )
    first = later.order_by("index").values_list("pk", flat=True).first()
    if first != (turn.message.pk if turn.message else None):
        return []
    why = "repairs a contradiction"
    return [Entry(note.pk, "repair", "note", one_line(note.text), 1.0, 0.0, why, note.source_id)]
