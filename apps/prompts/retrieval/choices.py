"""Choose the memories of a tier that a turn needs: by priority, by trigger words, and those that a search found.

One statement reads the candidates of the tier. The condition of its rows, ``known``, is composed by the ORM.
"""

from collections import Counter
from collections.abc import Sequence
from math import ceil
from typing import Any, NamedTuple
from uuid import UUID

from apps.chats.models import Character
from apps.chats.queries.keys import keys_of
from apps.common.database.compiled_queries import prepared_cursor
from apps.memories.models import Memory
from apps.prompts.retrieval.candidates import SqlWithParameters, Wanted, candidates_sql, more_sql
from apps.prompts.retrieval.known import KNOWN, vector_text
from apps.prompts.turns import UserTurn
from apps.prompts.witnessing import Viewpoint

MAX_MEMORIES = 80  # more than fit into any budget, whatever the settings say
MAX_TRIGGERED = 4  # memories beyond the cap that trigger words recall
LONG_TERM_KINDS = 4  # each kind of long-term memory has its share of the cap
RECENCY_WEIGHT = 0.2  # of a session's memories, added to the priority that is read

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

    Of a session with thousands of memories this approximates, with the lists of ``candidates``: compared are the 200
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
    character_id, vector = view.character.pk if view.character else None, vector_text(wanted.vectors)
    known, parameters = KNOWN[Memory.Tier(tier), candidates is not None].sql(
        keys_of(turn.chat), character_id, view.ids, turn.index - 1, list(wanted.words), wanted.vectors.model, vector
    )
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
