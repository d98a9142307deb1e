"""The user turn for which a prompt is made, and the visible messages of its chat."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import F

from apps.chats.models import Character, Chat, Message, Swipe
from apps.extraction.settings.queries import settings_of
from apps.extraction.settings.schema import Settings
from apps.injection.witnessing import Viewpoint
from apps.memories.queries.scenes import last_scene_end

BATCH_SIZE = 200


@dataclass(frozen=True)
class UserTurn:
    """A text by the user, at position ``index`` of the chat. ``message`` is None if it has not been sent yet."""

    chat: Chat
    text: str
    index: int
    message: Message | None

    @property
    def hash(self) -> str:
        return text_hash(self.text)

    @property
    def owner_id(self) -> UUID:
        return self.chat.owner_id

    @cached_property
    def memory_settings(self) -> Settings:
        """Return the memory settings of the chat, read once."""
        return settings_of(self.chat)

    @cached_property
    def scene_end(self) -> int:
        """Return the index of the last message before the turn that ends a scene, or -1, read once."""
        return last_scene_end(self.chat, self.index)


def text_hash(text: str) -> str:
    """Return the SHA-256 of a turn's text in hexadecimal. A stored recall is valid only for this text."""
    return hashlib.sha256(text.encode()).hexdigest()


def turn_from_message(chat: Chat, message: Message) -> UserTurn:
    return UserTurn(chat, message.mes, message.index, message)


def find_turn(chat: Chat, text: str | None, character: Character | None = None) -> UserTurn:
    """Return the turn with this text, or the last user turn if ``text`` is None.

    If the chat already ends with a user message with this text, the turn is that message; else it is unsent. For a
    member of a group who did not witness the message, the turn has no text: nothing is searched for.
    """
    messages = visible_messages(chat).order_by("-index")
    last = messages.filter(is_user=True).first() if text is None else messages.first()
    if last is not None and last.is_user and text in (None, last.mes):
        if not Viewpoint(chat, character).has_heard(last):
            return UserTurn(chat, "", chat.message_count, None)
        return turn_from_message(chat, last)
    return UserTurn(chat, text or "", chat.message_count, None)


def visible_messages(chat: Chat) -> Any:
    """Return a queryset of the messages that may go into a prompt, with their swipes."""
    return Message.objects.for_owner(chat.owner_id).filter(chat=chat).told().with_swipes()


class SpokenTurn(NamedTuple):
    """What was said in a message, and what tells who witnessed it: all that a prompt needs of it."""

    name: str
    is_user: bool
    mes: str
    extra: Mapping[str, Any]
    participant_id: UUID | None
    id: UUID


def spoken_turns_newest_first(
    chat: Chat, character: Character | None = None, *, skipped: int = 0
) -> Iterator[SpokenTurn]:
    """Yield the visible messages but ``skipped`` newest first, of a group those that the character witnessed.

    They are read in batches, without the rest of their rows.
    """
    return filter(Viewpoint(chat, character).has_heard, islice(_visible_newest_first(chat), skipped, None))


def _visible_newest_first(chat: Chat) -> Iterator[SpokenTurn]:
    active = Swipe.objects.for_owner(chat.owner_id).filter(position=F("message__swipe_id"))
    told = active.filter(message__chat=chat, message__is_system=False, message__withheld=False)
    visible = told.order_by("-message__index")
    rows = visible.values_list("message__name", "message__is_user", "mes", "extra", "message__participant", "message")
    end = chat.message_count
    while end > 0:
        yield from map(SpokenTurn._make, rows.filter(message__index__lt=end, message__index__gte=end - BATCH_SIZE))
        end -= BATCH_SIZE
