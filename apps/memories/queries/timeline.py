"""Order memories by the story, and group them into sections for the memory book."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any

from django.db.models import BooleanField, Case, When
from django.utils.translation import gettext

from apps.chats.models import Character, Chat
from apps.memories.models import Memory
from apps.memories.queries.scenes import FinishedScene, finished_scenes
from apps.memories.visibility import MemoryQuerySet

MESSAGES_PER_SECTION = 50  # in chats without finished scenes
SectionKey = tuple[str, int | None, int | None, Chat | None]  # label, start, end and chat of a section


@dataclass
class Section:
    """A part of the story with the memories learnt in it. ``start`` and ``end`` are message indexes, if known."""

    label: str
    start: int | None = None
    end: int | None = None
    chat: Chat | None = None
    memories: list[Memory] = field(default_factory=list)


def order_by_chat(chat: Chat, memories: MemoryQuerySet) -> MemoryQuerySet:
    """Order memories by the chat's messages; those learnt in other chats come last, with ``elsewhere`` set."""
    learnt_here = When(pk__in=Memory.objects.for_owner(chat.owner_id).learnt_in(chat).values("pk"), then=False)
    annotated = memories.annotate(elsewhere=Case(learnt_here, default=True, output_field=BooleanField()))
    return annotated.select_related("valid_from__chat", "chat", "superseded_by").order_by(
        "elsewhere", "valid_from__index", "pk"
    )


def sections_of_chat(chat: Chat, memories: Iterable[Memory]) -> list[Section]:
    """Group memories, ordered by ``order_by_chat``, by the chat's scenes, or by equal numbers of its messages."""
    scenes = finished_scenes(chat)
    return _group(memories, lambda memory: _section_in_chat(memory, scenes, chat.message_count))


def _section_in_chat(memory: Any, scenes: Sequence[FinishedScene], message_count: int) -> SectionKey:
    if memory.elsewhere:
        return gettext("Learnt in other chats"), None, None, None
    if memory.valid_from is None:
        return gettext("Not linked to a message"), None, None, None
    index = memory.valid_from.index
    for number, scene in enumerate(scenes, 1):
        if scene.start <= index <= scene.end:
            return scene.name or gettext("Scene %(number)s") % {"number": number}, scene.start, scene.end, None
    if scenes:
        return gettext("The current scene"), scenes[-1].end + 1, None, None
    start = index // MESSAGES_PER_SECTION * MESSAGES_PER_SECTION
    end = min(start + MESSAGES_PER_SECTION, message_count) - 1
    return gettext("Messages %(start)s to %(end)s") % {"start": start, "end": end}, start, end, None


def order_by_chats(character: Character, memories: MemoryQuerySet) -> MemoryQuerySet:
    """Order a character's memories by chat, oldest chat first, and within a chat by its messages."""
    of_character = memories.filter(character=character)
    return of_character.select_related("valid_from__chat", "chat", "superseded_by").order_by(
        "chat__created_at", "chat", "valid_from__index", "pk"
    )


def sections_by_chat(memories: Iterable[Memory]) -> list[Section]:
    """Group memories, ordered by ``order_by_chats``, by the chats that they were learnt in."""
    return _group(memories, _section_of_chat)


def _section_of_chat(memory: Memory) -> SectionKey:
    if memory.chat is None or memory.chat.deleted_at is not None:
        return gettext("From deleted chats"), None, None, None
    return memory.chat.title, None, None, memory.chat


def _group(memories: Iterable[Memory], key: Callable[[Memory], SectionKey]) -> list[Section]:
    return [Section(*section, memories=list(group)) for section, group in groupby(memories, key=key)]
