"""The memories of a tier that were known just before a turn, with their priority in its prompt, as querysets."""

from functools import partial
from itertools import product
from typing import Any, NamedTuple

from django.db.models import BooleanField, Case, ExpressionWrapper, F, FloatField, Q, QuerySet, Value, When
from django.db.models.expressions import RawSQL
from django.db.models.functions import Cast
from pgvector import Vector
from pgvector.django import MaxInnerProduct

from apps.chats.models import Character
from apps.chats.queries.keys import ChatKeys, ChatOrKeys
from apps.common.database.compiled_queries import CompiledQuery
from apps.memories.models import Memory
from apps.memories.models.memory import standing_of
from apps.memories.visibility import MemoryQuerySet
from apps.memories.witnesses import is_known_to
from apps.prompts.turns import UserTurn
from apps.prompts.witnessing import Viewpoint
from apps.search.service import QueryVectors

# Weights of what is added to the standing. The cosine similarity to the turn, at most 1, has the weight 1.
TRIGGER_WEIGHT = 0.3
PINNED_WEIGHT = 10.0

COLUMNS = ("id", "kind", "pinned", "ends_with_scene", "first_message", "has_trigger", "similarity", "priority")


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
    """Return the tier's memories known before a turn, with ``COLUMNS``, as the queryset of a compiled query.

    ``of_candidates``: only those that the statement around it names ``candidates``.
    """
    has_trigger, similarity = Q(triggers__overlap=turn.words), similarity_to(turn.model, turn.vector)
    if tier == Memory.Tier.LONG_TERM:
        similarity = Case(When(has_trigger, then=similarity), default=0.0)
    rows = _rows_of_tier(tier, chat, turn.character_id, turn.witness).known_at(chat, turn.index)
    if of_candidates:
        rows = rows.filter(pk__any=RawSQL("ARRAY(SELECT id FROM candidates)", ()))
    rows = rows.annotate(
        has_trigger=has_trigger,
        similarity=similarity,
        first_message=F("begins_message_id"),
        ends_with_scene=ExpressionWrapper(Q(expiration=Memory.Expiration.SCENE), output_field=BooleanField()),
    )
    rows = rows.annotate(priority=_priority_expression(tier)).order_by()
    columns: QuerySet[Memory] = rows.values_list(*COLUMNS)
    return columns


KNOWN: dict[tuple[Memory.Tier, bool], CompiledQuery[Memory]] = {
    key: CompiledQuery(partial(_known_rows, *key)) for key in product(Memory.Tier, (False, True))
}


def is_current(turn: UserTurn) -> Q:
    """Return the condition of memories that are not about a scene which has ended."""
    in_scene = Q(valid_from=None) | Q(begins_index__gt=turn.scene_end)
    return ~Q(expiration=Memory.Expiration.SCENE) | in_scene


def memories_of_tier(turn: UserTurn, tier: str, character: Character | None) -> MemoryQuerySet:
    """Return the visible memories of a tier: long-term ones of the character, others of the chat.

    Both include the memories that a branch inherited. In a group, leave out those that the character, or without one
    any member, did not witness. A long-term memory that expires with its session is not carried to other chats.
    """
    view = Viewpoint(turn.chat, character)
    return _rows_of_tier(tier, turn.chat, character.pk if character else None, view.ids)


def _rows_of_tier(tier: str, chat: ChatOrKeys, character_id: Any, witness: Any) -> MemoryQuerySet:
    """Return the rows of ``memories_of_tier``. ``witness`` has the ids of the group's member, or is None."""
    rows: MemoryQuerySet = Memory.objects.for_owner(chat.owner_id).present().filter(tier=tier, hidden=False)
    if tier == Memory.Tier.LONG_TERM and character_id is not None:
        return rows.relevant_to(chat, character_id).filter(character=character_id).carried_to(chat)
    rows = rows.learnt_in(chat)
    return rows if witness is None else rows.filter(is_known_to(character_id, witness))


def vector_text(vectors: QueryVectors) -> str | None:
    """Return the vector of the whole text as the database reads it, or None without one."""
    return Vector(vectors.rows[0]).to_text() if vectors.rows else None


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
