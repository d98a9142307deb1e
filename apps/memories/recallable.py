"""Which memories of a tier a prompt may tell: the rule of ``visibility`` for querysets, and for statements in SQL.

The conditions in SQL are of those columns by which an index finds the first rows of a list, so a row that meets them
may still be unknown to the chat. A row that is known meets them, or is one of ``EXCEPTIONS_SQL``. Their parameters are
``owner``, ``chat``, ``story``, ``character`` and ``witness``, the ids of a group's member or null; ``index`` is that of
the last message before the turn, ``scene_end`` that of the last one that ends a scene.
"""

# ruff: noqa: S608 - composed of our own constants; what differs is always a parameter

from typing import Any

from django.db.models import Q

from apps.chats.queries.keys import ChatOrKeys
from apps.memories.models import Memory
from apps.memories.models.memory import IS_VISIBLE_SQL
from apps.memories.other_branches import SUPERSEDED_BY_ANOTHER_STORY_SQL
from apps.memories.visibility import MemoryQuerySet
from apps.memories.witnesses import WITNESSED_SQL, is_known_to


def recallable(chat: ChatOrKeys, tier: str, character_id: Any, witness: Any) -> MemoryQuerySet:
    """Return the visible memories of a tier: long-term ones of the character, others of the chat.

    Both include the memories that a branch inherited. In a group, of which a member has the ids ``witness``, leave out
    those that it, or without a character any member, did not witness; outside groups ``witness`` is None. A long-term
    memory that expires with its session is not carried to other chats.
    """
    rows: MemoryQuerySet = Memory.objects.for_owner(chat.owner_id).present().filter(tier=tier, hidden=False)
    if tier == Memory.Tier.LONG_TERM and character_id is not None:
        return rows.relevant_to(chat, character_id).filter(character=character_id).carried_to(chat)
    rows = rows.learnt_in(chat)
    return rows if witness is None else rows.filter(is_known_to(character_id, witness))


def is_current(scene_end: int) -> Q:
    """Return the condition of memories of ``as_in`` that are not about a scene which has ended."""
    in_scene = Q(valid_from=None) | Q(begins_index__gt=scene_end)
    return ~Q(expiration=Memory.Expiration.SCENE) | in_scene


MESSAGES_SQL = "SELECT id FROM chats_message WHERE owner_id = %(owner)s AND chat_id = %(chat)s"
_LATER_MESSAGES = f"{MESSAGES_SQL} AND index > %(index)s"
_HAS_BEGUN = f"(valid_from_id IS NULL OR valid_from_id NOT IN ({_LATER_MESSAGES}))"
# Looked up for each memory of a list: without an ended scene, all messages of the chat would be read.
_FIRST_INDEX = "SELECT index FROM chats_message WHERE id = valid_from_id AND chat_id = %(chat)s"
_IS_CURRENT = f"(expiration <> 'scene' OR valid_from_id IS NULL OR ({_FIRST_INDEX}) > %(scene_end)s)"
_IS_OF_STORY = "(chat_id = %(chat)s OR story IS DISTINCT FROM %(story)s)"
_IS_CARRIED = "(chat_id = %(chat)s OR expiration <> 'session')"
_IS_WITNESSED = f"(%(witness)s::uuid[] IS NULL OR {WITNESSED_SQL})"
_IS_ELIGIBLE = f"{IS_VISIBLE_SQL} AND {_HAS_BEGUN} AND {_IS_CURRENT}"
_OF_TIER = {
    Memory.Tier.SESSION: "owner_id = %(owner)s AND chat_id = %(chat)s AND tier = 'session'",
    Memory.Tier.LONG_TERM: "owner_id = %(owner)s AND character_id = %(character)s AND tier = 'long_term'",
}
RECALLABLE_SQL = {
    Memory.Tier.SESSION: f"{_OF_TIER[Memory.Tier.SESSION]} AND {_IS_ELIGIBLE} AND {_IS_WITNESSED}",
    Memory.Tier.LONG_TERM: f"{_OF_TIER[Memory.Tier.LONG_TERM]} AND {_IS_ELIGIBLE} AND {_IS_OF_STORY} AND {_IS_CARRIED}",
}
# Statements of ids, whatever their state: what is pinned, what was replaced later or by another story, and what the
# chat inherited may be active in it.
EXCEPTIONS_SQL = {
    tier: [
        f"SELECT id FROM memories_memory WHERE {of_tier} AND pinned",
        f"SELECT id FROM memories_memory WHERE {of_tier} AND valid_to_id IN ({_LATER_MESSAGES})",
        f"SELECT id FROM memories_memory WHERE {of_tier} AND id IN ({SUPERSEDED_BY_ANOTHER_STORY_SQL})",
        "SELECT memory_id FROM memories_inheritance WHERE owner_id = %(owner)s AND chat_id = %(chat)s",
    ]
    for tier, of_tier in _OF_TIER.items()
}
