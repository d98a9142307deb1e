"""Choose the memories of a tier that a turn needs: by priority, by trigger words, and those that a search found.

Thousands of memories are not all compared with each other, except those that a branch inherited: candidates are those
at the head of one of a few lists, which an index tells. It has only memories that the chat may see, as far as a simple
condition tells. One statement reads the candidates and chooses from them those that were known before the turn: that
condition, ``KNOWN``, is composed by the ORM.
"""

# ruff: noqa: S608 - composed of our own constants; what differs is always a parameter

from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from math import ceil
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import BooleanField, Case, ExpressionWrapper, F, FloatField, Q, QuerySet, Value, When
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast
from pgvector.django import MaxInnerProduct

from apps.chats.models import Character
from apps.chats.queries.keys import ChatKeys, keys_of
from apps.common.database.compiled_queries import CompiledQuery, prepared_cursor
from apps.common.database.named_parameters import ids_of
from apps.memories.models import Memory
from apps.memories.models.memory import STANDING_SQL, standing_of
from apps.memories.recallable import EXCEPTIONS_SQL, MESSAGES_SQL, RECALLABLE_SQL, recallable
from apps.prompts.turns import UserTurn
from apps.prompts.witnessing import Viewpoint
from apps.search.service import NO_VECTORS, QueryVectors

MAX_MEMORIES = 80  # more than fit into any budget, whatever the settings say
MAX_TRIGGERED = 4  # memories beyond the cap that trigger words recall
LONG_TERM_KINDS = 4  # each kind of long-term memory has its share of the cap
# Weights of what is added to the standing. The cosine similarity to the turn, at most 1, has the weight 1.
TRIGGER_WEIGHT = 0.3
PINNED_WEIGHT = 10.0
RECENCY_WEIGHT = 0.2  # of a session's memories, added to the priority that is read

LIST_LENGTH = 200  # memories of one list, more than twice as many as a prompt has at most
RECENT_MESSAGES = 100  # before the turn, of which all memories of a session are compared
KIND_MARGIN = 20  # long-term memories of one kind beyond its share, for those that were not known before the turn

OF_SESSION = f"SELECT id FROM memories_memory WHERE {RECALLABLE_SQL[Memory.Tier.SESSION]}"
OF_CHARACTER = f"SELECT id FROM memories_memory WHERE {RECALLABLE_SQL[Memory.Tier.LONG_TERM]}"
OF_KIND = f"{OF_CHARACTER} AND kind = kinds.name"
KINDS = "unnest(%(kinds)s::text[]) AS kinds(name)"
LAST_MESSAGES = f"{MESSAGES_SQL} AND index > %(index)s - {RECENT_MESSAGES} AND index <= %(index)s"
BEST_FIRST = f"ORDER BY {STANDING_SQL} DESC, id DESC"
DISTANCE = "CASE WHEN embedding_model = %(model)s THEN embedding <#> %(vector)s::halfvec END"
WITH_TRIGGER = "SELECT memories_with_trigger(%(owner)s, %(words)s::varchar[])"
NEAREST_FIRST = f"ORDER BY {DISTANCE}, {STANDING_SQL} DESC, id DESC"
RECALLED = f"AND id = ANY(ARRAY({WITH_TRIGGER})) {NEAREST_FIRST} LIMIT {LIST_LENGTH}"

HEADS = {
    Memory.Tier.SESSION: [
        # The newest, those of the best standing, of the last messages, and those that a word of the turn recalls.
        f"{OF_SESSION} ORDER BY id DESC LIMIT {LIST_LENGTH}",
        f"{OF_SESSION} {BEST_FIRST} LIMIT {LIST_LENGTH}",
        f"{OF_SESSION} AND valid_from_id IN ({LAST_MESSAGES})",
        f"{OF_SESSION} {RECALLED}",
    ],
    Memory.Tier.LONG_TERM: [
        # Of each kind those with the best standing, and those that a word of the turn recalls.
        f"SELECT best.id FROM {KINDS} CROSS JOIN LATERAL ({OF_KIND} {BEST_FIRST} LIMIT %(of_kind)s) AS best",
        f"{OF_CHARACTER} {RECALLED}",
    ],
}
# Whether there are memories after the head of a list.
MORE = {
    Memory.Tier.SESSION: f"SELECT EXISTS ({OF_SESSION} {BEST_FIRST} OFFSET {LIST_LENGTH} LIMIT 1)",
    Memory.Tier.LONG_TERM: f"SELECT EXISTS (SELECT FROM {KINDS} CROSS JOIN LATERAL "
    f"({OF_KIND} {BEST_FIRST} OFFSET %(of_kind)s LIMIT 1) AS more)",
}
FOUND = "SELECT unnest(%(found)s::uuid[])"

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
    candidates = candidates_sql(turn, tier, view, wanted)
    chosen = _chosen(turn, tier, view, wanted, candidates)
    if candidates is not None and _may_lack(turn, tier, view, [choice for choice in chosen if choice.always]):
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
    more = ids_of(MORE[Memory.Tier(tier)], **_parameters(turn, view), kinds=kinds)
    with prepared_cursor() as cursor:
        cursor.execute(more.sql, more.params)
        return bool(cursor.fetchone()[0])


def _chosen(turn: UserTurn, tier: str, view: Viewpoint, wanted: Wanted, candidates: RawSQL | None) -> list[Choice]:
    """Return the choice of those among the candidates, or without them of all memories of the tier."""
    keys = TurnKeys(
        character_id=view.character.pk if view.character else None,
        witness=view.ids,
        index=turn.index - 1,
        words=list(wanted.words),
        model=wanted.vectors.model,
        vector=wanted.vectors.whole,
    )
    known, parameters = KNOWN[Memory.Tier(tier), candidates is not None].sql(keys_of(turn.chat), keys)
    sql = CHOICE.format(
        candidates=f"candidates AS MATERIALIZED ({candidates.sql})," if candidates is not None else "",
        known=known,
        ranked=RANKED[Memory.Tier(tier)],
    )
    cap, is_long_term = _cap(turn, tier), tier == Memory.Tier.LONG_TERM
    recency = 0.0 if is_long_term else RECENCY_WEIGHT / max(turn.index, 1)  # long-term ones don't depend on the turn
    shares = [_share_of_kind(turn)] if is_long_term else []
    places: list[Any] = [recency, turn.scene_end, turn.chat.pk]
    limits: list[Any] = [*shares, cap, MAX_TRIGGERED, list(wanted.required)]
    with prepared_cursor() as cursor:
        cursor.execute(sql, [*(candidates.params if candidates is not None else ()), *parameters, *places, *limits])
        return [Choice(*row) for row in cursor.fetchall()]


def candidates_sql(turn: UserTurn, tier: str, view: Viewpoint, wanted: Wanted) -> RawSQL | None:
    """Return the statement of the ids of a tier's candidates, or None if all of its memories are candidates.

    These are those of highest standing (of long-term ones, of each kind), of a session the newest and those of the last
    messages; the nearest of those that a word recalls; those that are pinned, or that a search found.
    """
    if tier == Memory.Tier.LONG_TERM and view.character is None:
        return None
    lists = [*HEADS[Memory.Tier(tier)], *EXCEPTIONS_SQL[Memory.Tier(tier)], FOUND]
    sought = {
        "words": list(wanted.words),
        "model": wanted.vectors.model,
        "vector": wanted.vectors.whole,
        "found": list({*wanted.required, *wanted.near}),
    }
    sql = " UNION ".join(f"({sql})" for sql in lists)
    return ids_of(sql, **_parameters(turn, view), **sought, kinds=Memory.Kind.values)


def _parameters(turn: UserTurn, view: Viewpoint) -> dict[str, Any]:
    """Return the parameters of ``RECALLABLE_SQL``, and of the lists of each kind their length."""
    return {
        "owner": turn.owner_id,
        "chat": turn.chat.pk,
        "story": turn.chat.story,
        "character": view.character.pk if view.character else None,
        "witness": view.ids,
        "index": turn.index - 1,
        "scene_end": turn.scene_end,
        "of_kind": _share_of_kind(turn) + KIND_MARGIN,
    }


class TurnKeys(NamedTuple):
    """What of a turn decides which memories are known and how near they are: values, or a compiled query's expressions.

    ``index`` is that of the last message before the turn; ``model`` made the ``vector`` of the turn's text.
    """

    character_id: Any
    witness: Any
    index: Any
    words: Any
    model: Any
    vector: Any


def _known_rows(tier: str, of_candidates: bool, chat: ChatKeys, turn: TurnKeys) -> QuerySet[Memory]:
    """Return the tier's memories known before a turn, with their priority, as the queryset of a compiled query.

    ``of_candidates``: only those that the statement around it names ``candidates``.
    """
    has_trigger, similarity = Q(triggers__overlap=turn.words), similarity_to(turn.model, turn.vector)
    if tier == Memory.Tier.LONG_TERM:
        similarity = Case(When(has_trigger, then=similarity), default=0.0)
    rows = recallable(chat, tier, turn.character_id, turn.witness).known_at(chat, turn.index)
    if of_candidates:
        rows = rows.filter(pk__any=RawSQL("ARRAY(SELECT id FROM candidates)", ()))
    rows = rows.annotate(
        has_trigger=has_trigger,
        similarity=similarity,
        first_message=F("begins_message_id"),
        ends_with_scene=ExpressionWrapper(Q(expiration=Memory.Expiration.SCENE), output_field=BooleanField()),
    )
    rows = rows.annotate(priority=_priority_expression(tier)).order_by()
    columns: QuerySet[Memory] = rows.values_list(
        "id", "kind", "pinned", "ends_with_scene", "first_message", "has_trigger", "similarity", "priority"
    )
    return columns


KNOWN: dict[tuple[Memory.Tier, bool], CompiledQuery[Memory]] = {
    key: CompiledQuery(partial(_known_rows, *key)) for key in product(Memory.Tier, (False, True))
}


def similarity_to(model: Any, vector: Any) -> Any:
    """Return an expression for the cosine similarity to the text; 0 without a vector of the same model."""
    if vector is None:
        return Value(0.0, output_field=FloatField())
    text = vector if hasattr(vector, "resolve_expression") else Value(vector)
    cosine = ExpressionWrapper(0.0 - MaxInnerProduct("embedding", text), output_field=FloatField())  # of unit vectors
    return Case(When(embedding_model=model, embedding__isnull=False, then=cosine), default=0.0)


def _priority_expression(tier: str) -> Any:
    """Return the priority without its term for recency."""
    value = standing_of(F("importance"), F("confidence_here"))
    value += Case(When(pinned=True, then=_float(PINNED_WEIGHT)), default=_float(0))
    if tier == Memory.Tier.SESSION:
        value += F("similarity") + Case(When(has_trigger=True, then=_float(TRIGGER_WEIGHT)), default=_float(0))
    return ExpressionWrapper(value, output_field=FloatField())


def _float(value: float) -> Cast:
    """Return a number that the database doesn't take for an exact decimal, with which it counts more slowly."""
    return Cast(Value(value), FloatField())
