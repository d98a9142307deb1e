"""Choose the memories of a tier that a turn needs: by priority, by trigger words, and those that a search found.

Thousands of memories are not all compared with each other, except those that a branch inherited: candidates are those
at the head of one of a few lists, which an index tells. It has only memories that the chat may see, as far as a simple
condition tells. One statement reads the candidates and chooses from them those that were known before the turn: that
condition, ``known``, is composed by the ORM.
"""

# ruff: noqa: S608 - composed of our own constants; what differs is always a parameter

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple
from uuid import UUID

from apps.chats.models import Character
from apps.chats.queries.keys import keys_of
from apps.common.database.compiled_queries import prepared_cursor
from apps.common.database.named_parameters import ids_of
from apps.memories.models import Memory
from apps.memories.models.memory import IS_VISIBLE_SQL, STANDING_SQL
from apps.memories.other_branches import SUPERSEDED_BY_ANOTHER_STORY_SQL
from apps.memories.witnesses import WITNESSED_SQL
from apps.prompts.retrieval.known import KNOWN, TurnKeys, vector_text
from apps.prompts.turns import UserTurn
from apps.prompts.witnessing import Viewpoint
from apps.search.service import NO_VECTORS, QueryVectors

MAX_MEMORIES = 80  # more than fit into any budget, whatever the settings say
MAX_TRIGGERED = 4  # memories beyond the cap that trigger words recall
LONG_TERM_KINDS = 4  # each kind of long-term memory has its share of the cap
RECENCY_WEIGHT = 0.2  # of a session's memories, added to the priority that is read

LIST_LENGTH = 200  # memories of one list, more than twice as many as a prompt has at most
RECENT_MESSAGES = 100  # before the turn, of which all memories of a session are compared
KIND_MARGIN = 20  # long-term memories of one kind beyond its share, for those that were not known before the turn

IS_OF_SESSION = "owner_id = %(owner)s AND chat_id = %(chat)s AND tier = 'session'"
IS_LONG_TERM = "owner_id = %(owner)s AND character_id = %(character)s AND tier = 'long_term'"
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
IS_ELIGIBLE = f"{IS_VISIBLE_SQL} AND {HAS_BEGUN} AND {IS_CURRENT}"
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
        # The newest, those of the best standing, of the last messages, and those that a word of the turn recalls.
        f"{MEMORIES} {OF_SESSION} ORDER BY id DESC LIMIT {LIST_LENGTH}",
        f"{MEMORIES} {OF_SESSION} {BEST_FIRST} LIMIT {LIST_LENGTH}",
        f"{MEMORIES} {OF_SESSION} AND valid_from_id IN ({LAST_MESSAGES})",
        f"{MEMORIES} {OF_SESSION} {RECALLED}",
    ],
    Memory.Tier.LONG_TERM: [
        # Of each kind those with the best standing, and those that a word of the turn recalls.
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

# Of equal priority, the newer memory comes first.
RANKED = {
    Memory.Tier.SESSION: "SELECT id, priority FROM placed WHERE is_current",
    Memory.Tier.LONG_TERM: """
        SELECT best.id, best.priority FROM (SELECT DISTINCT kind FROM placed) AS kinds CROSS JOIN LATERAL (
            SELECT id, priority FROM placed WHERE is_current AND placed.kind = kinds.kind
            ORDER BY priority DESC, id DESC LIMIT %s
        ) AS best
        UNION SELECT id, priority FROM placed WHERE is_current AND pinned
    """,
}
CHOICE = """
WITH {candidates} known AS MATERIALIZED ({known}),
placed AS MATERIALIZED (
    SELECT known.id, kind, pinned, has_trigger, similarity,
        priority + %s::float * coalesce(message.index, 0) AS priority,
        NOT ends_with_scene OR first_message IS NULL OR coalesce(message.index > %s, false) AS is_current
    FROM known LEFT JOIN chats_message AS message ON message.id = first_message AND message.chat_id = %s
),
always AS MATERIALIZED (SELECT id FROM ({ranked}) AS ranked ORDER BY priority DESC, id DESC LIMIT %s),
triggered AS MATERIALIZED (
    SELECT id FROM placed WHERE is_current AND has_trigger ORDER BY similarity DESC, priority DESC, id DESC LIMIT %s
)
SELECT id, kind, priority, id IN (SELECT id FROM always) FROM placed
WHERE id IN (SELECT id FROM always) OR id IN (SELECT id FROM triggered) OR id = ANY(%s) ORDER BY id
"""


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


class Choice(NamedTuple):
    """A chosen memory, and its priority in the prompt. ``always``: it is in the prompt whatever the turn says."""

    id: UUID
    kind: str
    priority: float
    always: bool


def choose(turn: UserTurn, tier: str, character: Character | None, wanted: Wanted) -> list[Choice]:
    """Return memories of a tier that were known just before the turn, oldest first.

    These are the ones of highest priority up to the tier's cap, of long-term ones each kind up to its share and all
    pinned ones; those that a trigger word recalls; and the required ones. They are chosen from candidates; if too few
    of these were known before the turn, from all memories of the tier.

    Of a session with thousands of memories this approximates, with the lists of ``HEADS``: compared are the 200
    newest, the 200 of highest standing, the 200 nearest with a trigger word, those of the last 100 messages, pinned and
    inherited ones, and those that the search found. Another one isn't chosen even if its importance, recency and
    similarity together were worth more. Of long-term ones, only the recalled ones are approximated: by the 200 nearest.
    """
    view = Viewpoint(turn.chat, character)
    candidates = candidates_sql(turn, tier, view, wanted, _share_of_kind(turn))
    chosen = _chosen(turn, tier, view, wanted, candidates)
    if candidates and _may_lack(turn, tier, view, [choice for choice in chosen if choice.always]):
        return _chosen(turn, tier, view, wanted, None)
    return chosen


def _cap(turn: UserTurn, tier: str) -> int:
    settings = turn.memory_settings
    return min(settings.long_term_cap if tier == Memory.Tier.LONG_TERM else settings.session_cap, MAX_MEMORIES)


def _share_of_kind(turn: UserTurn) -> int:
    return min(ceil(turn.memory_settings.long_term_cap / LONG_TERM_KINDS), MAX_MEMORIES)


def _may_lack(turn: UserTurn, tier: str, view: Viewpoint, chosen: Sequence[Choice]) -> bool:
    """Return whether too few candidates were chosen, of long-term ones of a kind, and there are more memories."""
    if len(chosen) >= _cap(turn, tier):
        return False
    share, number_of = _share_of_kind(turn), Counter(choice.kind for choice in chosen)
    kinds = [kind for kind in Memory.Kind.values if number_of[kind] < share]
    with prepared_cursor() as cursor:
        cursor.execute(*more_sql(turn, tier, view, kinds, share))
        return bool(cursor.fetchone()[0])


def _chosen(
    turn: UserTurn, tier: str, view: Viewpoint, wanted: Wanted, candidates: SqlWithParameters | None
) -> list[Choice]:
    """Return the choice of those among the candidates, or without them of all memories of the tier."""
    keys = TurnKeys(
        character_id=view.character.pk if view.character else None,
        witness=view.ids,
        index=turn.index - 1,
        words=list(wanted.words),
        model=wanted.vectors.model,
        vector=vector_text(wanted.vectors),
    )
    known, parameters = KNOWN[Memory.Tier(tier), candidates is not None].sql(keys_of(turn.chat), keys)
    sql = CHOICE.format(
        candidates=f"candidates AS MATERIALIZED ({candidates.sql})," if candidates else "",
        known=known,
        ranked=RANKED[Memory.Tier(tier)],
    )
    cap, is_long_term = _cap(turn, tier), tier == Memory.Tier.LONG_TERM
    recency = 0.0 if is_long_term else RECENCY_WEIGHT / max(turn.index, 1)  # long-term ones don't depend on the turn
    shares = [_share_of_kind(turn)] if is_long_term else []
    places: list[Any] = [recency, turn.scene_end, turn.chat.pk]
    limits: list[Any] = [*shares, cap, MAX_TRIGGERED, list(wanted.required)]
    with prepared_cursor() as cursor:
        cursor.execute(sql, [*(candidates.parameters if candidates else ()), *parameters, *places, *limits])
        return [Choice(*row) for row in cursor.fetchall()]


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
    sought = {
        "words": list(wanted.words),
        "model": wanted.vectors.model,
        "vector": vector_text(wanted.vectors),
        "found": list({*wanted.required, *wanted.near}),
    }
    return _composed(sql, **_parameters(turn, view, share), **sought, kinds=Memory.Kind.values)


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


def _composed(sql: str, **parameters: Any) -> SqlWithParameters:
    composed = ids_of(sql, **parameters)
    return SqlWithParameters(composed.sql, composed.params)
