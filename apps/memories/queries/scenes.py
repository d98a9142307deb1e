"""Read a chat's scenes."""

from dataclasses import dataclass

from apps.chats.models import Chat, Message
from apps.chats.scenes import scenes_of
from apps.memories.models import Scene


@dataclass(frozen=True)
class SceneView:
    """A finished scene, from the index ``start`` to ``last``. ``found`` is None if a person set the break."""

    start: int
    last: Message
    name: str
    recap: str
    collapsed: bool
    found: Scene | None

    @property
    def end(self) -> int:
        return self.last.index

    @property
    def set_by_hand(self) -> bool:
        return self.found is None


def finished_scenes(chat: Chat) -> list[SceneView]:
    """Return the chat's finished scenes in order: those set by people and those detected by runs."""
    rows = Scene.objects.for_owner(chat.owner_id).filter(chat=chat, state=Scene.State.FOUND, source__isnull=False)
    ends: dict[int, SceneView] = {
        row.source.index: SceneView(0, row.source, row.name, row.recap, row.collapsed, row)
        for row in rows.select_related("source")
        if row.source
    }
    # A break that a person set replaces one detected at the same message.
    for scene in scenes_of(chat):
        ends[scene.last.index] = SceneView(0, scene.last, scene.name or "", scene.recap or "", scene.is_collapsed, None)
    starts = [0, *(index + 1 for index in sorted(ends))]
    return [
        SceneView(start, view.last, view.name, view.recap, view.collapsed, view.found)
        for start, (_, view) in zip(starts, sorted(ends.items()), strict=False)
    ]
