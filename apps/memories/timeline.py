"""Memories as they follow each other: along the story, and each in the place of another."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.db.models import BooleanField, Case, When

from apps.chats.models import Character, Chat, Participant
from apps.memories.models import Memory
from apps.memories.queries import SceneView, scenes_in

STRETCH = 50  # messages, where no scenes are known
LONGEST_CHAIN = 200
Place = tuple[str, int | None, int | None, Chat | None]  # the label, start, end and chat of a stretch


@dataclass
class Stretch:
    """A part of the story, with what was learnt in it. ``start`` and ``end`` are indexes of messages, where known."""

    label: str
    start: int | None = None
    end: int | None = None
    chat: Chat | None = None
    memories: list[Memory] = field(default_factory=list)


def along(chat: Chat, memories: Any) -> Any:
    """A queryset of memories in the order in which the chat tells them; those of other chats follow."""
    mine = When(pk__in=Memory.objects.for_owner(chat.owner_id).told_in(chat).values("pk"), then=False)
    placed = memories.annotate(elsewhere=Case(mine, default=True, output_field=BooleanField()))
    return placed.select_related("valid_from__chat", "chat", "superseded_by").order_by(
        "elsewhere", "valid_from__index", "pk"
    )


def stretches_of_chat(chat: Chat, memories: Iterable[Any]) -> list[Stretch]:
    """The memories, as ``along`` orders them, by the scenes of the chat, or by stretches of its messages."""
    scenes = scenes_in(chat)
    return _grouped(memories, lambda memory: _place_in_chat(memory, scenes, chat.message_count))


def _place_in_chat(memory: Any, scenes: Sequence[SceneView], count: int) -> Place:
    if memory.elsewhere:
        return "Known from elsewhere", None, None, None
    if memory.valid_from is None:
        return "Without a place in the chat", None, None, None
    index = memory.valid_from.index
    for number, scene in enumerate(scenes, 1):
        if scene.start <= index <= scene.end:
            return scene.name or f"Scene {number}", scene.start, scene.end, None
    if scenes:
        return "The scene under way", scenes[-1].end + 1, None, None
    start = index // STRETCH * STRETCH
    end = min(start + STRETCH, count) - 1
    return f"Messages {start} to {end}", start, end, None


def across(character: Character, memories: Any) -> Any:
    """A queryset of memories of a character, chat by chat in the order in which these began."""
    mine = memories.filter(character=character)
    return mine.select_related("valid_from__chat", "chat", "superseded_by").order_by(
        "chat__created_at", "chat", "valid_from__index", "pk"
    )


def stretches_of_character(memories: Iterable[Any]) -> list[Stretch]:
    """The memories, as ``across`` orders them, by the chats that they come from."""
    return _grouped(memories, _place_among_chats)


def _place_among_chats(memory: Memory) -> Place:
    return (memory.chat.title if memory.chat else "From chats that are deleted"), None, None, memory.chat


def _grouped(memories: Iterable[Any], place: Callable[[Any], Place]) -> list[Stretch]:
    return [Stretch(*where, memories=list(group)) for where, group in groupby(memories, key=place)]


def chain_of(memory: Memory) -> list[Memory]:
    """What the memory replaced, step by step, itself, and what replaced it, the oldest first."""
    mine = Memory.objects.for_owner(memory.owner_id).present().select_related("valid_to", "valid_from")
    older: list[Memory] = []
    level = [memory.pk]
    while level and len(older) < LONGEST_CHAIN:
        found = list(mine.filter(superseded_by__in=level).order_by("-pk"))
        older += found
        level = [one.pk for one in found]
    newer: list[Memory] = []
    successor = memory.superseded_by_id
    while successor and len(newer) < LONGEST_CHAIN:
        following = mine.filter(pk=successor).first()
        newer += [following] if following else []
        successor = following.superseded_by_id if following else None
    return [*reversed(older), memory, *newer]


def name_witnesses(memories: Sequence[Memory]) -> Sequence[Memory]:
    """The memories, each with ``witnesses``: the names of those who were there, none where everybody was."""
    ids = {pk for memory in memories for pk in memory.witnessed_by}
    owners = {memory.owner_id for memory in memories}
    names: dict[Any, str] = {}
    if ids:
        rows = Participant.objects.for_owner(owners.pop()).filter(pk__in=ids)
        names = dict(rows.values_list("pk", "name"))
    for memory in memories:
        memory.witnesses = [names[pk] for pk in memory.witnessed_by if pk in names]  # type: ignore[attr-defined]
    return memories
