"""Read a chat's scenes."""

from dataclasses import dataclass, replace
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from apps.chats.models import Chat, Message
from apps.chats.scenes import scenes_of
from apps.common.database.compiled_queries import CompiledQuery
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


def _rows(owner: Any, chat: Any) -> QuerySet[Scene]:
    rows: QuerySet[Scene] = Scene.objects.for_owner(owner).filter(chat=chat, source__isnull=False)
    return rows.select_related("source")


FOUND = CompiledQuery(lambda owner, chat: _rows(owner, chat).filter(state=Scene.State.FOUND))
WITH_RECAP = CompiledQuery(lambda owner, chat: _rows(owner, chat).exclude(recap="").exclude(state=Scene.State.RETIRED))


def finished_scenes(chat: Chat) -> list[FinishedScene]:
    """Return the chat's finished scenes in order: those set by people and those detected by runs."""
    by_end: dict[int, FinishedScene] = {
        row.source.index: FinishedScene(0, row.source, row.name, row.recap, row.collapsed, row)
        for row in FOUND.rows(chat.owner_id, chat.pk)
        if row.source
    }
    recaps = {row.source.index: row.recap for row in WITH_RECAP.rows(chat.owner_id, chat.pk) if row.source}
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
    found = LAST_FOUND.first(chat.owner_id, chat.pk, before)
    by_hand = LAST_BY_HAND.first(chat.owner_id, chat.pk, before)
    return max(found.source.index if found and found.source else -1, by_hand.index if by_hand else -1)


def scene_ends(chat: Chat, before: int) -> list[int]:
    """Return the indexes of all messages before index ``before`` that end a scene, in order."""
    found = Scene.objects.for_owner(chat.owner_id).filter(chat=chat, state=Scene.State.FOUND, source__index__lt=before)
    by_hand = Message.objects.for_owner(chat.owner_id).filter(chat=chat, ends_scene=True, index__lt=before)
    return sorted({*found.values_list("source__index", flat=True), *by_hand.values_list("index", flat=True)})


def _last_by_hand(owner: Any, chat: Any, before: Any) -> QuerySet[Message]:
    rows: QuerySet[Message] = Message.objects.for_owner(owner).filter(chat=chat, ends_scene=True, index__lt=before)
    return rows.order_by("-index").only("index")[:1]


LAST_FOUND = CompiledQuery(
    lambda owner, chat, before: (
        _rows(owner, chat).filter(state=Scene.State.FOUND, source__index__lt=before).order_by("-source__index")[:1]
    )
)
LAST_BY_HAND = CompiledQuery(_last_by_hand)
