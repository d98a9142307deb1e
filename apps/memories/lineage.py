"""Which rows of other chats a chat may see.

A branch and its parent continue one story differently: what one of them learns after the branch point must not reach
the other, also after either is deleted.
"""

import re
from uuid import UUID

from django.db.models import Q
from django.db.models.expressions import RawSQL

from apps.chats.queries.keys import ChatOrKeys

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
# The ids of a character's memories from deleted chats that only other branches of the chat's story still say, with the
# parameters ``owner``, ``character`` and ``chat``.
SAID_IN_OTHER_BRANCHES_SQL = """
SELECT memory.id FROM chats_chat AS here
JOIN memories_memory AS memory ON memory.owner_id = here.owner_id AND memory.story <> here.story
LEFT JOIN chats_chat AS own ON own.id = memory.chat_id
WHERE here.id = %(chat)s AND here.owner_id = %(owner)s AND memory.character_id = %(character)s
  AND NOT memory.in_bin AND NOT memory.kept
  AND (own.id IS NULL OR own.deleted_at IS NOT NULL AND NOT own.keeps_memories)
  AND EXISTS (SELECT 1 FROM chats_chat AS branch WHERE branch.story = here.story AND branch.id <> here.id)
  AND NOT EXISTS (
      SELECT 1 FROM chats_chat AS seen
      WHERE (seen.id = here.id OR seen.story <> here.story) AND (seen.deleted_at IS NULL OR seen.keeps_memories)
        AND seen.id IN (
            SELECT message.chat_id FROM memories_memorysource AS source
            JOIN chats_message AS message ON message.id = source.message_id
            WHERE source.memory_id = memory.id AND NOT source.lost
            UNION ALL
            SELECT inheritance.chat_id FROM memories_inheritance AS inheritance
            WHERE inheritance.memory_id = memory.id
        )
  )
"""


def is_remembered() -> Q:
    """Return the condition of rows whose chat is not in the bin, or whose character keeps what was learnt in it."""
    return Q(chat__deleted_at=None) | Q(chat__keeps_memories=True)


def is_of_visible_chat(chat: ChatOrKeys) -> Q:
    """Return the condition of rows without a story of their own: those of no chat, of the chat, or of other stories."""
    return Q(chat=None) | Q(chat=chat.pk) | ~Q(chat__story=chat.story) & is_remembered()


def is_seen_in(chat: ChatOrKeys) -> Q:
    """Return the condition of rows of the chat itself, and of those that come from other stories."""
    return Q(chat=chat.pk) | (Q(story=None) | ~Q(story=chat.story)) & is_remembered()


def ids_of(sql: str, **parameters: UUID) -> RawSQL:
    """Return a statement with named parameters for lookups such as ``pk__in``."""
    values = [parameters[name] for name in re.findall(r"%\((\w+)\)s", sql)]
    return RawSQL(re.sub(r"%\(\w+\)s", "%s", sql), values)  # noqa: S611 - composed of our own constants
