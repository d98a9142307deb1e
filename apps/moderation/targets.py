"""Things that can be reported or looked at: finding them, and their texts."""

from collections.abc import Iterator
from dataclasses import dataclass
from uuid import UUID

from apps.chats.models import Character, Chat, Message
from apps.common.problems import Missing
from apps.common.scoping import Owner
from apps.memories.models import Memory
from apps.moderation.models import Kind

CHARACTER_FIELDS = (
    *("name", "nickname", "description", "personality", "scenario", "first_mes", "mes_example"),
    *("system_prompt", "post_history_instructions", "creator_notes"),
)


@dataclass(frozen=True)
class Target:
    """A thing that exists: its kind, id and owner, and the chat that it is in, if any."""

    kind: str
    pk: UUID
    owner_id: UUID
    chat_id: UUID | None = None


def find_target(owner: Owner, kind: str, target_id: UUID) -> Target:
    """Return a thing of the owner. Raise Missing, also for what is in the bin."""
    row: Character | Message | Memory | None
    if kind == Kind.CHARACTER:
        row = Character.objects.for_owner(owner).filter(pk=target_id).first()
    elif kind == Kind.MESSAGE:
        row = Message.objects.for_owner(owner).filter(pk=target_id, chat__deleted_at=None).first()
    else:
        row = Memory.objects.for_owner(owner).present().filter(pk=target_id).first()
    if row is None:
        raise Missing(f"There is no such {kind}.")
    return Target(kind, row.pk, row.owner_id, None if isinstance(row, Character) else row.chat_id)


def chat_target(chat: Chat) -> Target:
    """Return a whole chat, which can be looked at but not reported."""
    return Target("chat", chat.pk, chat.owner_id, chat.pk)


def texts_of_message(message: Message) -> Iterator[str]:
    """Yield the texts of all swipes. The swipes must have been prefetched."""
    yield from (swipe.mes for swipe in message.ordered_swipes if swipe.mes)


def texts_of_character(character: Character) -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each field that has one."""
    for name in CHARACTER_FIELDS:
        if text := getattr(character, name):
            yield name, text
    for number, text in enumerate(character.alternate_greetings or ()):
        if isinstance(text, str) and text:
            yield f"alternate_greetings {number + 1}", text
