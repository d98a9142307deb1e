"""What of a chat decides which rows are visible in it, for queries that are compiled once for all chats."""

from typing import Any, NamedTuple, TypeAlias
from uuid import UUID

from apps.chats.models import Chat
from apps.common.scoping import OWN_NAMESPACE


class ChatKeys(NamedTuple):
    """Columns of a chat, named as its attributes: values, or the expressions of a compiled query."""

    pk: Any
    owner_id: Any
    story: Any
    character_id: Any
    parent_index: Any
    namespace: Any


ChatOrKeys: TypeAlias = Chat | ChatKeys


def keys_of_id(owner_id: UUID, chat_id: UUID) -> ChatKeys:
    """Return the keys of the owner's chat with an id, also of one in the bin.

    Without such a chat, they are those of one in which nothing was learnt.
    """
    found = Chat._base_manager.filter(owner=owner_id, pk=chat_id).values_list(*ChatKeys._fields).first()
    return ChatKeys(*found) if found else ChatKeys(chat_id, owner_id, chat_id, None, None, OWN_NAMESPACE)


def keys_of(chat: Chat) -> ChatKeys:
    """Return the keys of a chat."""
    return ChatKeys(*(getattr(chat, name) for name in ChatKeys._fields))
