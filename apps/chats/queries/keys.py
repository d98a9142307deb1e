"""What of a chat decides which rows are visible in it, for queries that are compiled once for all chats."""

from typing import Any, NamedTuple, TypeAlias

from apps.chats.models import Chat


class ChatKeys(NamedTuple):
    """Columns of a chat, named as its attributes: values, or the expressions of a compiled query."""

    pk: Any
    owner_id: Any
    story: Any
    character_id: Any
    parent_index: Any


ChatOrKeys: TypeAlias = Chat | ChatKeys


def keys_of(chat: Chat) -> ChatKeys:
    """Return the keys of a chat."""
    return ChatKeys(*(getattr(chat, name) for name in ChatKeys._fields))
