"""Which rows of other chats a chat may see.

A branch and its parent continue one story differently: what one of them learns after the branch point must not reach
the other, also after either is deleted.
"""

from django.db.models import Q

from apps.chats.models import Chat


def is_remembered() -> Q:
    """Return the condition of rows whose chat is not in the bin, or whose character keeps what was learnt in it."""
    return Q(chat__deleted_at=None) | Q(chat__keeps_memories=True)


def is_of_visible_chat(chat: Chat) -> Q:
    """Return the condition of rows without a story of their own: those of no chat, of the chat, or of other stories."""
    return Q(chat=None) | Q(chat=chat) | ~Q(chat__story=chat.story) & is_remembered()


def is_seen_in(chat: Chat) -> Q:
    """Return the condition of rows of the chat itself, and of those that come from other stories."""
    return Q(chat=chat) | (Q(story=None) | ~Q(story=chat.story)) & is_remembered()
