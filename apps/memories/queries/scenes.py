"""Read a chat's scenes."""

from dataclasses import dataclass, replace
from uuid import UUID

from django.db.models import Max

from apps.chats.models import Chat, Message
from apps.chats.scenes import scenes_of
from apps.memories.models import Scene


@dataclass(frozen=True)
class FinishedScene:
    """A finished scene, from the index ``start`` to ``last``. ``detected`` is None if a person set the break.

    ``included`` says whether its recap may go into the prompt.
    """

    start: int
    last: Message
    name: str
    recap: str
    collapsed: bool
    detected: Scene | None
    included: bool = True

    @property
    def end(self) -> int:
        return self.last.index

    @property
    def set_by_hand(self) -> bool:
        return self.detected is None


def finished_scenes(chat: Chat) -> list[FinishedScene]:
    """Return the chat's finished scenes in order: those set by people and those detected by runs."""
    rows = Scene.objects.for_owner(chat.owner_id).filter(chat=chat, state=Scene.State.FOUND, source__isnull=False)
    by_end: dict[int, FinishedScene] = {
        row.source.index: FinishedScene(0, row.source, row.name, row.recap, row.collapsed, row)
        for row in rows.select_related("source")
        if row.source
    }
    written = Scene.objects.for_owner(chat.owner_id).filter(chat=chat, source__isnull=False).exclude(recap="")
    recaps = dict(written.exclude(state=Scene.State.RETIRED).values_list("source__index", "recap"))
    # A break that a person set replaces one detected at the same message.
    for scene in scenes_of(chat):
        recap = scene.recap or recaps.get(scene.last.index, "")
        by_end[scene.last.index] = FinishedScene(
            0, scene.last, scene.name or "", recap, scene.is_collapsed, None, scene.is_included
        )
    starts = [0, *(index + 1 for index in sorted(by_end))]
    return [replace(scene, start=start) for start, (_, scene) in zip(starts, sorted(by_end.items()), strict=False)]


def detected_scene(chat: Chat, message_id: UUID) -> FinishedScene | None:
    """Return the scene that ends with a message if a run detected its end, else None."""
    return next((scene for scene in finished_scenes(chat) if scene.last.pk == message_id and scene.detected), None)


def last_scene_end(chat: Chat, before: int) -> int:
    """Return the index of the last message before index ``before`` that ends a scene, or -1."""
    found = Scene.objects.for_owner(chat.owner_id).filter(chat=chat, state=Scene.State.FOUND, source__index__lt=before)
    by_hand = Message.objects.for_owner(chat.owner_id).filter(chat=chat, ends_scene=True, index__lt=before)
    ends = (found.aggregate(end=Max("source__index"))["end"], by_hand.aggregate(end=Max("index"))["end"])
    return max(-1 if end is None else end for end in ends)
