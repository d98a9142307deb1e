"""The user turn for which a prompt is made, and the visible messages of its chat."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import islice
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import F, QuerySet

from apps.chats.models import Character, Chat, Message, Swipe
from apps.chats.queries.keys import keys_of
from apps.chats.querysets import is_told
from apps.common.database.compiled_queries import CompiledQuery
from apps.extraction.settings.schema import Settings
from apps.extraction.settings.stores import settings_of
from apps.memories.models import Knowledge
from apps.memories.queries.knowledge import KNOWLEDGE
from apps.memories.queries.scenes import last_scene_end
from apps.prompts.witnessing import Viewpoint

BATCH_SIZE = 200


@dataclass(frozen=True)
class UserTurn:
    """A text by the user, at position ``index`` of the chat. ``message`` is None if it has not been sent yet.

    ``is_previewed``: the prompt shows what the next one has, so what stands after an answered turn counts as before it.
    """

    chat: Chat
    text: str
    index: int
    message: Message | None
    is_previewed: bool = False

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

    @cached_property
    def knowledge(self) -> list[Knowledge]:
        """Return who knew and hid what just before the turn, read once."""
        return list(KNOWLEDGE.rows(keys_of(self.chat), self.index - 1))


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
    last = (LAST_OF_USER if text is None else LAST).first(chat.owner_id, chat.pk)
    if last is not None and last.is_user and text in (None, last.mes):
        if not Viewpoint(chat, character).has_heard(last):
            return UserTurn(chat, "", chat.message_count, None)
        return turn_from_message(chat, last)
    return UserTurn(chat, text or "", chat.message_count, None)


def visible_messages(chat: Chat) -> Any:
    """Return a queryset of the messages that may go into a prompt, with their swipes."""
    return _visible(chat.owner_id, chat.pk)


def count_replies(chat: Chat) -> int:
    """Return how many visible messages of the chat are not by the user."""
    return int(visible_messages(chat).filter(is_user=False).count())


def _visible(owner_id: Any, chat_id: Any) -> Any:
    return Message.objects.for_owner(owner_id).filter(chat=chat_id).told().with_swipes()


def _last_visible(owner_id: Any, chat_id: Any, **condition: Any) -> Any:
    return _visible(owner_id, chat_id).filter(**condition).order_by("-index")[:1]


LAST: CompiledQuery[Message] = CompiledQuery(_last_visible)
LAST_OF_USER: CompiledQuery[Message] = CompiledQuery(partial(_last_visible, is_user=True))


class SpokenTurn(NamedTuple):
    """What was said in a message, and what tells who witnessed it: all that a prompt needs of it."""

    name: str
    is_user: bool
    mes: str
    extra: Mapping[str, Any]
    participant_id: UUID | None
    id: UUID


def spoken_turns_newest_first(
    chat: Chat, character: Character | None = None, *, skipped: int = 0, count: int = 0
) -> Iterator[SpokenTurn]:
    """Yield the visible messages but ``skipped`` newest first, of a group those that the character witnessed.

    They are read in batches, without the rest of their rows. The chat has at least ``count`` messages: some may have
    been appended since it was read.
    """
    visible = _visible_newest_first(chat, max(chat.message_count, count))
    return filter(Viewpoint(chat, character).has_heard, islice(visible, skipped, None))


def _visible_newest_first(chat: Chat, end: int) -> Iterator[SpokenTurn]:
    while end > 0:
        yield from map(SpokenTurn._make, SPOKEN.rows(chat.owner_id, chat.pk, end - BATCH_SIZE, end))
        end -= BATCH_SIZE


def _spoken(owner_id: Any, chat_id: Any, start: Any, end: Any) -> QuerySet[Swipe, Any]:
    """Return the visible messages from index ``start`` to before ``end`` as rows of SpokenTurn, newest first."""
    active = Swipe.objects.for_owner(owner_id).filter(position=F("message__swipe_id"), message__chat=chat_id)
    told = active.filter(is_told("message__"), message__index__gte=start, message__index__lt=end)
    rows: QuerySet[Swipe, Any] = told.order_by("-message__index").values_list(
        "message__name", "message__is_user", "mes", "extra", "message__participant", "message"
    )
    return rows


SPOKEN: CompiledQuery[Any] = CompiledQuery(_spoken)
