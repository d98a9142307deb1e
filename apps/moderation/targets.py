"""Things that can be reported or looked at: finding them, and their texts."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from apps.chats.models import Character, Chat, Lorebook, Message, Persona
from apps.common.database.rows import first_or_missing
from apps.common.scoping import Owner
from apps.memories.models import Memory
from apps.moderation.models import Kind

CHARACTER_FIELDS = (
    *("name", "nickname", "description", "personality", "scenario", "first_mes", "mes_example"),
    *("system_prompt", "post_history_instructions", "creator_notes"),
)


# Things that stand alone, by their kind. A message is found in its chat.
MODELS: dict[str, Any] = {
    Kind.CHARACTER: Character,
    Kind.PERSONA: Persona,
    Kind.LOREBOOK: Lorebook,
    Kind.MEMORY: Memory,
}


@dataclass(frozen=True)
class Target:
    """A thing that exists: its kind, id and owner, and the chat that it is in, if any."""

    kind: str
    pk: UUID
    owner_id: UUID
    chat_id: UUID | None = None


def find_target(owner: Owner, kind: str, target_id: UUID) -> Target:
    """Return a thing of the owner. Raise Missing, also for what is in the bin."""
    if kind == Kind.MESSAGE:
        rows: Any = Message.objects.for_owner(owner).filter(chat__deleted_at=None)
    else:
        rows = MODELS[kind].objects.for_owner(owner)
    if kind == Kind.MEMORY:
        rows = rows.present()
    row = first_or_missing(rows.filter(pk=target_id), f"There is no such {kind}.")
    return target_of(kind, row)


def target_of(kind: str, row: Any) -> Target:
    """Return what a row is as a target."""
    return Target(kind, row.pk, row.owner_id, row.chat_id if kind in (Kind.MESSAGE, Kind.MEMORY) else None)


def chat_target(chat: Chat) -> Target:
    """Return a whole chat, which can be looked at but not reported."""
    return Target("chat", chat.pk, chat.owner_id, chat.pk)


def texts_of_message(message: Message) -> Iterator[str]:
    """Yield the texts of all swipes. The swipes must have been prefetched."""
    yield from (swipe.mes for swipe in message.ordered_swipes if swipe.mes)


def texts_of(row: Any) -> Iterator[tuple[str, str]]:
    """Yield a heading and the text of each field with one, of a thing that stands alone."""
    if isinstance(row, Character):
        yield from _texts_of_character(row)
    elif isinstance(row, Lorebook):
        yield "name", row.name
        for number, entry in enumerate(row.document.get("entries") or (), 1):
            yield from ((f"entry {number}: {name}", text) for name, text in _texts_of_entry(entry))
    else:
        fields = ("text",) if isinstance(row, Memory) else ("name", "description")
        yield from ((name, text) for name in fields if (text := getattr(row, name)))


def _texts_of_entry(entry: Any) -> Iterator[tuple[str, str]]:
    for name in ("name", "comment", "content"):
        if isinstance(entry, dict) and isinstance(text := entry.get(name), str) and text:
            yield name, text


def _texts_of_character(character: Character) -> Iterator[tuple[str, str]]:
    for name in CHARACTER_FIELDS:
        if text := getattr(character, name):
            yield name, text
    for number, text in enumerate(character.alternate_greetings or ()):
        if isinstance(text, str) and text:
            yield f"alternate_greetings {number + 1}", text
