"""Which rows of other chats a chat may see.

A branch and its parent continue one story differently: what one of them learns after the branch point must not reach
the other, also after either is deleted.
"""

from django.db.models import Q

from apps.chats.models import Chat

# The ids of memories that a chat sees as superseded by another story, with the parameters ``owner`` and ``chat``: those
# of which it sees a successor that isn't retired. It is ``supersessions_in`` of ``querysets.py`` for statements in SQL.
SUPERSEDED_IN_SQL = """
SELECT link.memory_id FROM memories_supersession AS link
JOIN memories_memory AS successor ON successor.id = link.successor_id
LEFT JOIN memories_inheritance AS known ON known.memory_id = successor.id AND known.chat_id = %(chat)s
WHERE link.owner_id = %(owner)s AND NOT successor.in_bin AND coalesce(known.state, successor.state) <> 'retired'
  AND (successor.chat_id = %(chat)s OR known.id IS NOT NULL
       OR successor.story IS DISTINCT FROM (SELECT story FROM chats_chat WHERE id = %(chat)s))
"""
# The ids of memories whose row is superseded by another story.
SUPERSEDED_BY_ANOTHER_STORY_SQL = """
SELECT link.memory_id FROM memories_supersession AS link
JOIN memories_memory AS replaced ON replaced.id = link.memory_id AND replaced.superseded_by_id = link.successor_id
WHERE link.owner_id = %(owner)s
"""


def is_remembered() -> Q:
    """Return the condition of rows whose chat is not in the bin, or whose character keeps what was learnt in it."""
    return Q(chat__deleted_at=None) | Q(chat__keeps_memories=True)


def is_of_visible_chat(chat: Chat) -> Q:
    """Return the condition of rows without a story of their own: those of no chat, of the chat, or of other stories."""
    return Q(chat=None) | Q(chat=chat) | ~Q(chat__story=chat.story) & is_remembered()


def is_seen_in(chat: Chat) -> Q:
    """Return the condition of rows of the chat itself, and of those that come from other stories."""
    return Q(chat=chat) | (Q(story=None) | ~Q(story=chat.story)) & is_remembered()
