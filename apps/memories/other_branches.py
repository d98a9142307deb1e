"""What other branches and stories say of a memory: statements and the rule of copies, for ``visibility``."""

from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Count, Exists, OuterRef, Q

from apps.chats.models import Chat

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


def is_copy() -> Q:
    """Return the condition of memories that another branch of the outer memory's story learnt in the same words.

    Each branch reads the messages that both have, so that what was not learnt yet when it was made is learnt twice.
    """
    same = {name: OuterRef(name) for name in ("owner", "story", "tier", "kind", "text", "state", "hidden")}
    is_of_same = Q(character=OuterRef("character")) | Q(character=None)
    return Q(**same) & is_of_same & ~Q(chat=OuterRef("chat"))


def has_earlier_copy(memories: type[models.Model], owner_id: UUID) -> Exists:
    """Return the condition of memories of which another branch has an earlier copy."""
    first = memories._base_manager.filter(is_copy(), pk__lt=OuterRef("pk"), deleted_at=None, in_bin=False)
    return Exists(first.filter(story__in=stories_with_branches(memories, owner_id)))


def stories_with_branches(memories: type[models.Model], owner_id: UUID) -> models.QuerySet[Any, Any]:
    """Return the stories of several chats, and those that had more: a memory is left of a chat that is gone."""
    chats = Chat._base_manager.filter(owner=owner_id).order_by().values("story").alias(chats=Count("pk"))
    left = memories._base_manager.filter(owner=owner_id, chat=None, story__isnull=False).order_by()
    return chats.filter(chats__gt=1).values("story").union(left.values("story"))
