"""Which memories of a tier can be chosen for a turn: those at the head of one of a few lists.

Thousands of memories are not all compared with each other, except those that a branch inherited. An index tells each
list. It has only memories that the chat may see, as far as a simple condition tells; which of them were known before
the turn is decided afterwards, for those that remain.
"""

# ruff: noqa: S608 - composed of our own constants; what differs is always a parameter

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from apps.memories.models import Memory
from apps.memories.models.memory import STANDING_SQL
from apps.memories.visibility import SUPERSEDED_BY_ANOTHER_STORY_SQL, ids_of
from apps.memories.witnesses import WITNESSED_SQL
from apps.prompts.retrieval.known import vector_text
from apps.prompts.turns import UserTurn
from apps.prompts.witnessing import Viewpoint
from apps.search.service import NO_VECTORS, QueryVectors

LIST_LENGTH = 200  # memories of one list, more than twice as many as a prompt has at most
RECENT_MESSAGES = 100  # before the turn, of which all memories of a session are compared
KIND_MARGIN = 20  # long-term memories of one kind beyond its share, for those that were not known before the turn

IS_OF_SESSION = "owner_id = %(owner)s AND chat_id = %(chat)s AND tier = 'session'"
IS_LONG_TERM = "owner_id = %(owner)s AND character_id = %(character)s AND tier = 'long_term'"
IS_VISIBLE = "state = 'active' AND NOT hidden AND NOT in_bin AND deleted_at IS NULL"
MESSAGES = "SELECT id FROM chats_message WHERE owner_id = %(owner)s AND chat_id = %(chat)s"
LATER_MESSAGES = f"{MESSAGES} AND index > %(index)s"
LAST_MESSAGES = f"{MESSAGES} AND index > %(index)s - {RECENT_MESSAGES} AND index <= %(index)s"
HAS_BEGUN = f"(valid_from_id IS NULL OR valid_from_id NOT IN ({LATER_MESSAGES}))"
# Looked up for each memory of a list: without an ended scene, all messages of the chat would be read.
FIRST_INDEX = "SELECT index FROM chats_message WHERE id = valid_from_id AND chat_id = %(chat)s"
IS_CURRENT = f"(expiration <> 'scene' OR valid_from_id IS NULL OR ({FIRST_INDEX}) > %(scene_end)s)"
IS_OF_STORY = "(chat_id = %(chat)s OR story IS DISTINCT FROM %(story)s)"
IS_CARRIED = "(chat_id = %(chat)s OR expiration <> 'session')"
IS_WITNESSED = f"(%(witness)s::uuid[] IS NULL OR {WITNESSED_SQL})"
IS_ELIGIBLE = f"{IS_VISIBLE} AND {HAS_BEGUN} AND {IS_CURRENT}"
OF_SESSION = f"{IS_OF_SESSION} AND {IS_ELIGIBLE} AND {IS_WITNESSED}"
OF_CHARACTER = f"{IS_LONG_TERM} AND {IS_ELIGIBLE} AND {IS_OF_STORY} AND {IS_CARRIED}"
OF_KIND = f"{OF_CHARACTER} AND kind = kinds.name"
KINDS = "unnest(%(kinds)s::text[]) AS kinds(name)"
BEST_FIRST = f"ORDER BY {STANDING_SQL} DESC, id DESC"
MEMORIES = "SELECT id FROM memories_memory WHERE"
DISTANCE = "CASE WHEN embedding_model = %(model)s THEN embedding <#> %(vector)s::halfvec END"
WITH_TRIGGER = "SELECT memories_with_trigger(%(owner)s, %(words)s::varchar[])"
NEAREST_FIRST = f"ORDER BY {DISTANCE}, {STANDING_SQL} DESC, id DESC"
RECALLED = f"AND id = ANY(ARRAY({WITH_TRIGGER})) {NEAREST_FIRST} LIMIT {LIST_LENGTH}"

HEADS = {
    Memory.Tier.SESSION: [
        f"{MEMORIES} {OF_SESSION} ORDER BY id DESC LIMIT {LIST_LENGTH}",
        f"{MEMORIES} {OF_SESSION} {BEST_FIRST} LIMIT {LIST_LENGTH}",
        f"{MEMORIES} {OF_SESSION} AND valid_from_id IN ({LAST_MESSAGES})",
        f"{MEMORIES} {OF_SESSION} {RECALLED}",
    ],
    Memory.Tier.LONG_TERM: [
        f"SELECT best.id FROM {KINDS} CROSS JOIN LATERAL ({MEMORIES} {OF_KIND} {BEST_FIRST} LIMIT %(of_kind)s) AS best",
        f"{MEMORIES} {OF_CHARACTER} {RECALLED}",
    ],
}
# Whether there are memories after the head of a list.
MORE = {
    Memory.Tier.SESSION: f"SELECT EXISTS ({MEMORIES} {OF_SESSION} {BEST_FIRST} OFFSET {LIST_LENGTH} LIMIT 1)",
    Memory.Tier.LONG_TERM: f"SELECT EXISTS (SELECT FROM {KINDS} CROSS JOIN LATERAL "
    f"({MEMORIES} {OF_KIND} {BEST_FIRST} OFFSET %(of_kind)s LIMIT 1) AS more)",
}
SCOPES = {Memory.Tier.SESSION: IS_OF_SESSION, Memory.Tier.LONG_TERM: IS_LONG_TERM}
# Whatever their state: what the chat inherited, and what was replaced later, or by another story, may be active in it.
OTHERS = [
    f"{MEMORIES} {{scope}} AND pinned",
    f"{MEMORIES} {{scope}} AND valid_to_id IN ({LATER_MESSAGES})",
    f"{MEMORIES} {{scope}} AND id IN ({SUPERSEDED_BY_ANOTHER_STORY_SQL})",
    "SELECT memory_id FROM memories_inheritance WHERE owner_id = %(owner)s AND chat_id = %(chat)s",
    "SELECT unnest(%(found)s::uuid[])",
]


@dataclass(frozen=True)
class Wanted:
    """What a turn wants memories for: the vectors and the trigger words of its text, and ids that it requires.

    ``near`` are the ids of all memories that are near to the text, of which the required ones are the nearest.
    """

    words: Sequence[str] = ()
    vectors: QueryVectors = NO_VECTORS
    required: Collection[UUID] = ()
    near: Collection[UUID] = ()


class SqlWithParameters(NamedTuple):
    """A statement with placeholders, and their values in order."""

    sql: str
    parameters: Sequence[Any]


def candidates_sql(turn: UserTurn, tier: str, view: Viewpoint, wanted: Wanted, share: int) -> SqlWithParameters | None:
    """Return SQL and parameters of the ids of a tier's candidates, or None if all of its memories are candidates.

    These are those of highest standing (of long-term ones, of each kind), of a session the newest and those of the last
    messages; the nearest of those that a word recalls; those that are pinned, or that a search found. ``share`` is how
    many of a kind a prompt may have.
    """
    if tier == Memory.Tier.LONG_TERM and view.character is None:
        return None
    chosen = Memory.Tier(tier)
    lists = [*HEADS[chosen], *(sql.format(scope=SCOPES[chosen]) for sql in OTHERS)]
    sql = " UNION ".join(f"({sql})" for sql in lists)
    return _composed(sql, **_parameters(turn, view, share), **_sought(wanted), kinds=Memory.Kind.values)


def more_sql(turn: UserTurn, tier: str, view: Viewpoint, kinds: Sequence[str], share: int) -> SqlWithParameters:
    """Return SQL and parameters that tell whether there are memories that no list has, of long-term ones of ``kinds``.

    They are not candidates, though the chat may see them as far as a simple condition tells.
    """
    return _composed(MORE[Memory.Tier(tier)], **_parameters(turn, view, share), kinds=list(kinds))


def _parameters(turn: UserTurn, view: Viewpoint, share: int) -> dict[str, Any]:
    return {
        "owner": turn.owner_id,
        "chat": turn.chat.pk,
        "story": turn.chat.story,
        "character": view.character.pk if view.character else None,
        "witness": view.ids,
        "index": turn.index - 1,
        "scene_end": turn.scene_end,
        "of_kind": share + KIND_MARGIN,
    }


def _sought(wanted: Wanted) -> dict[str, Any]:
    return {
        "words": list(wanted.words),
        "model": wanted.vectors.model,
        "vector": vector_text(wanted.vectors),
        "found": list({*wanted.required, *wanted.near}),
    }


def _composed(sql: str, **parameters: Any) -> SqlWithParameters:
    composed = ids_of(sql, **parameters)
    return SqlWithParameters(composed.sql, composed.params)
