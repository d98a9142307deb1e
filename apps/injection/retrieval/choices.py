"""Choose the memories of a tier that a turn needs: by priority, by trigger words, and those that a search found.

One statement reads each memory of the tier once. The condition of its rows is composed by the ORM, as for all others.
"""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Any, NamedTuple
from uuid import UUID

from django.db import connection
from django.db.models import Case, ExpressionWrapper, F, FloatField, Q, Value, When
from django.db.models.functions import Cast, Coalesce
from pgvector.django import CosineDistance

from apps.chats.models import Character
from apps.injection.turns import UserTurn
from apps.injection.witnessing import Viewpoint
from apps.memories.models import Memory
from apps.memories.queries.scenes import last_scene_end
from apps.memories.querysets import MemoryQuerySet
from apps.memories.search import NO_VECTORS, QueryVectors

MAX_MEMORIES = 80  # more than fit into any budget, whatever the settings say
MAX_TRIGGERED = 4  # memories beyond the cap that trigger words recall
LONG_TERM_KINDS = 4  # each kind of long-term memory has its share of the cap

# Weights of the terms of the priority. The cosine similarity to the turn, at most 1, has the weight 1.
IMPORTANCE_WEIGHT = 0.3
CONFIDENCE_WEIGHT = 0.2
RECENCY_WEIGHT = 0.2
TRIGGER_WEIGHT = 0.3
PINNED_WEIGHT = 10.0

COLUMNS = ("id", "kind", "pinned", "is_current", "has_trigger", "similarity", "priority")
# Of equal priority, the newer memory comes first.
RANKED = {
    Memory.Tier.SESSION: "SELECT id, priority FROM known WHERE is_current",
    Memory.Tier.LONG_TERM: """
        SELECT id, priority FROM (
            SELECT id, priority, pinned, row_number() OVER (PARTITION BY kind ORDER BY priority DESC, id DESC) AS rank
            FROM known WHERE is_current
        ) AS of_kind WHERE pinned OR rank <= %s
    """,
}
CHOICE = """
WITH known AS MATERIALIZED ({known}),
always AS MATERIALIZED (SELECT id FROM ({ranked}) AS ranked ORDER BY priority DESC, id DESC LIMIT %s),
triggered AS MATERIALIZED (
    SELECT id FROM known WHERE is_current AND has_trigger ORDER BY similarity DESC, id LIMIT %s
)
SELECT id, priority, id IN (SELECT id FROM always) FROM known
WHERE id IN (SELECT id FROM always) OR id IN (SELECT id FROM triggered) OR id = ANY(%s) ORDER BY id
"""


@dataclass(frozen=True)
class Wanted:
    """What a turn wants memories for: the vectors and the trigger words of its text, and ids that it requires."""

    words: Sequence[str] = ()
    vectors: QueryVectors = NO_VECTORS
    required: Collection[UUID] = ()


class Choice(NamedTuple):
    """A chosen memory, and its priority in the prompt. ``always``: it is in the prompt whatever the turn says."""

    id: UUID
    priority: float
    always: bool


def choose(turn: UserTurn, tier: str, character: Character | None, wanted: Wanted) -> list[Choice]:
    """Return memories of a tier that were known just before the turn, oldest first.

    These are the ones of highest priority up to the tier's cap, of long-term ones each kind up to its share and all
    pinned ones; those that a trigger word recalls; and the required ones.
    """
    known, parameters = _known(turn, tier, character, wanted)
    cap = turn.memory_settings.session_cap
    shares: list[int] = []
    if tier == Memory.Tier.LONG_TERM:
        cap = turn.memory_settings.long_term_cap
        shares = [ceil(cap / LONG_TERM_KINDS)]
    sql = CHOICE.format(known=known, ranked=RANKED[Memory.Tier(tier)])
    limits: list[Any] = [*shares, min(cap, MAX_MEMORIES), MAX_TRIGGERED, list(wanted.required)]
    with connection.cursor() as cursor:
        cursor.execute(sql, [*parameters, *limits])
        return [Choice(*row) for row in cursor.fetchall()]


def _known(turn: UserTurn, tier: str, character: Character | None, wanted: Wanted) -> tuple[str, Sequence[Any]]:
    """Return SQL and parameters of the tier's memories known before the turn, with ``COLUMNS``."""
    has_trigger = Q(triggers__overlap=list(wanted.words))
    similarity = similarity_to(wanted.vectors)
    if tier == Memory.Tier.LONG_TERM:  # whose priority does not depend on it
        similarity = Case(When(has_trigger, then=similarity), default=0.0)
    rows = memories_of_tier(turn, tier, character).known_at(turn.chat, turn.index - 1)
    rows = rows.annotate(has_trigger=has_trigger, is_current=is_current(turn), similarity=similarity)
    rows = rows.annotate(priority=_priority_expression(turn, tier)).order_by()
    sql, parameters = rows.values_list(*COLUMNS).query.sql_with_params()
    return sql, parameters


def is_current(turn: UserTurn) -> Q:
    """Return the condition of memories that are not about a scene which has ended."""
    in_scene = Q(valid_from=None) | Q(begins_here__gt=last_scene_end(turn.chat, turn.index))
    return ~Q(expiration=Memory.Expiration.SCENE) | in_scene


def memories_of_tier(turn: UserTurn, tier: str, character: Character | None) -> MemoryQuerySet:
    """Return the visible memories of a tier: long-term ones of the character, others of the chat.

    Both include the memories that a branch inherited. In a group, leave out those that the character did not witness.
    A long-term memory that expires with its session is not carried to other chats.
    """
    rows: MemoryQuerySet = Memory.objects.for_owner(turn.owner_id).present().filter(tier=tier, hidden=False)
    if tier != Memory.Tier.LONG_TERM:
        rows = rows.filter(Viewpoint(turn.chat, character).session_memories())
    if tier == Memory.Tier.LONG_TERM and character is not None:
        rows = rows.relevant_to(turn.chat, character.pk).filter(character=character)
        return rows.filter(~Q(expiration=Memory.Expiration.SESSION) | Q(chat=turn.chat) | Q(inherited__isnull=False))
    return rows.learnt_in(turn.chat)


def similarity_to(vectors: QueryVectors) -> Any:
    """Return an expression for the cosine similarity to the whole text; 0 without a vector of the same model."""
    if not vectors.rows:
        return Value(0.0, output_field=FloatField())
    cosine = ExpressionWrapper(1.0 - CosineDistance("embedding", vectors.rows[0]), output_field=FloatField())
    return Case(When(embedding_model=vectors.model, embedding__isnull=False, then=cosine), default=0.0)


def _priority_expression(turn: UserTurn, tier: str) -> Any:
    value = _float(IMPORTANCE_WEIGHT / 3) * F("importance") + _float(CONFIDENCE_WEIGHT) * F("confidence_here")
    value += Case(When(pinned=True, then=_float(PINNED_WEIGHT)), default=_float(0))
    if tier == Memory.Tier.SESSION:
        value += F("similarity") + Case(When(has_trigger=True, then=_float(TRIGGER_WEIGHT)), default=_float(0))
        value += _float(RECENCY_WEIGHT / max(turn.index, 1)) * Coalesce(F("begins_here"), 0)
    return ExpressionWrapper(value, output_field=FloatField())


def _float(value: float) -> Cast:
    """Return a number that the database doesn't take for an exact decimal, with which it counts more slowly."""
    return Cast(Value(value), FloatField())
