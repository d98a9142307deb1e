"""Fetch the rows that may answer a query, with their signals, from Postgres."""

import datetime as dt
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.db import connection
from django.db.models import Value
from django.db.models.functions import Lower, StrIndex
from django.utils import timezone

from apps.memories.lexemes import any_of
from apps.memories.lineage import relatives
from apps.memories.models import Entity, Memory
from apps.memories.search.presets import Preset
from apps.memories.search.questions import ParsedQuery, Speaker, mentions
from apps.memories.search.ranking import Hit, TurnPosition, recency, relative_length
from apps.memories.search.statements import SearchTable, search_sql

MESSAGES = "messages"
PASSAGES = SearchTable(
    table="memories_passage",
    vector_type="halfvec",
    vectors={"vector": "embedding", "window_vector": "window_embedding"},
    words={"lexical": ("lexemes", "p.length"), "window_lexical": ("window_lexemes", "p.window_length")},
    columns="m.id, p.chat_id, p.session, m.index, p.speaker, p.is_user, p.is_question, p.length,"
    " coalesce(m.sent_at, m.created_at) AS at",
    joins="JOIN chats_message m ON m.id = p.message_id AND NOT m.is_system",
)
MEMORIES = SearchTable(
    table="memories_memory",
    vector_type="vector",
    vectors={"vector": "embedding"},
    words={"lexical": ("lexemes", "length(p.lexemes)")},
    columns="p.id, p.tier, p.text, p.importance, p.pinned, p.source_instance, p.participating_instances,"
    " p.created_at AS at",
)


@dataclass(frozen=True)
class SearchScope:
    """The rows that are searched: of an owner, a chat, a character, or a chat with its character's long-term memories.

    ``before`` leaves out messages from this index on.
    """

    owner_id: UUID
    tiers: Collection[str]
    chat_id: UUID | None = None
    character_id: UUID | None = None
    instance: str | None = None
    before: int | None = None

    @property
    def values(self) -> dict[str, Any]:
        """Return the parameters of the statement."""
        return {
            "owner": self.owner_id,
            "chat": self.chat_id,
            "character": self.character_id,
            "tiers": list(self.tiers),
            "before": self.before,
            "relatives": relatives(self.chat_id) if self.chat_id and self.character_id else [],
        }


@dataclass(frozen=True)
class QueryTerms:
    """The query's lexemes, and the unit vectors of the whole query and of each sentence, by ``model``."""

    lexemes: Sequence[str]
    model: str = ""
    vectors: Sequence[np.ndarray] = ()

    @property
    def values(self) -> dict[str, Any]:
        """Return the parameters of the statement."""
        texts = ["[" + ",".join(map(str, vector.tolist())) + "]" for vector in self.vectors]
        named = {f"sentence_{number}": text for number, text in enumerate(texts[1:])}
        common = {"lexemes": list(self.lexemes), "any": any_of(self.lexemes), "model": self.model}
        return common | named | ({"whole": texts[0]} if texts else {})


def speakers_in(scope: SearchScope) -> list[Speaker]:
    """Return who speaks in the messages of the scope, most messages first."""
    sql = f"""
        SELECT p.speaker, p.is_user, count(*), sum(p.length)
        FROM memories_passage p WHERE {_passages_of(scope)} GROUP BY p.speaker, p.is_user ORDER BY 3 DESC
    """  # noqa: S608 - composed of our own constants
    with connection.cursor() as cursor:
        cursor.execute(sql, scope.values)
        return [Speaker(*row) for row in cursor.fetchall()]


def find_messages(
    scope: SearchScope, terms: QueryTerms, preset: Preset, question: ParsedQuery, speakers: Sequence[Speaker]
) -> list[Hit]:
    """Return the messages of the scope that any arm finds."""
    if MESSAGES not in scope.tiers:
        return []
    usual = _usual_lengths(speakers)
    rows = _rows(PASSAGES, _passages_of(scope), terms, preset, scope)
    rows = [row for row in rows if scope.before is None or row["index"] < scope.before]
    return [_message(row, question, usual) for row in rows]


def _usual_lengths(speakers: Sequence[Speaker]) -> dict[bool, float]:
    """Return the mean number of words in a turn by ``is_user``."""
    turns: dict[bool, int] = defaultdict(int)
    words: dict[bool, int] = defaultdict(int)
    for speaker in speakers:
        turns[speaker.is_user] += speaker.turns
        words[speaker.is_user] += speaker.words
    return {side: words[side] / turns[side] for side in turns}


def _message(row: dict[str, Any], question: ParsedQuery, usual: dict[bool, float]) -> Hit:
    traits = {
        "subject": float(row["speaker"] in question.subjects),
        "length": relative_length(row["length"], usual.get(row["is_user"], 0)),
        "question": float(row["is_question"]),
        "recency": recency(_age(row["at"])),
    }
    turn = TurnPosition(row["chat_id"], row["session"], row["index"], row["speaker"], row["is_question"])
    return Hit(row["id"], MESSAGES, row["arms"], traits, turn)


def find_memories(
    scope: SearchScope, terms: QueryTerms, preset: Preset, question: ParsedQuery, query: str
) -> list[Hit]:
    """Return the memories of the scope that any arm finds.

    They have no turns around them, so the signals of their windows are those of their text.
    """
    if not set(scope.tiers) & set(Memory.Tier.values):
        return []
    rows = _rows(MEMORIES, _memories_of(scope), terms, preset, scope)
    linked = _linked_entities(scope, query, [row["id"] for row in rows])
    return [_memory(row, question, linked.get(row["id"], 0.0), scope.instance) for row in rows]


def _memory(row: dict[str, Any], question: ParsedQuery, graph: float, instance: str | None) -> Hit:
    instances = {row["source_instance"], *row["participating_instances"]}
    windows = {f"window_{arm}": value for arm, value in row["arms"].items()}
    traits = {
        "subject": float(any(mentions(row["text"], name) for name in question.subjects)),
        "recency": recency(_age(row["at"])),
        "graph": graph,
        "instance": float(bool(instance) and instance in instances),
        "importance": (row["importance"] - 1) / 2,
        "pinned": float(row["pinned"]),
    }
    return Hit(row["id"], row["tier"], row["arms"] | windows, traits)


def _linked_entities(scope: SearchScope, query: str, memory_ids: Sequence[UUID]) -> dict[UUID, float]:
    """Return, for each memory, the share of the query's entities that it names."""
    entities = Entity.objects.for_owner(scope.owner_id).alias(place=StrIndex(Value(query.lower()), Lower("name")))
    rows = entities.filter(place__gt=0).values_list("pk", "name")
    # Several entities, in different chats, can have one name. Names of things often lack capital letters in queries.
    named = {pk: name.casefold() for pk, name in rows if mentions(query.casefold(), name.casefold())}
    links = Memory.entities.through.objects.filter(memory_id__in=memory_ids, entity_id__in=named)
    names: dict[UUID, set[str]] = defaultdict(set)
    for memory_id, entity_id in links.values_list("memory_id", "entity_id"):
        names[memory_id].add(named[entity_id])
    return {memory_id: len(found) / len(set(named.values())) for memory_id, found in names.items()}


def _age(at: dt.datetime) -> float:
    return (timezone.now() - at).total_seconds() / 86400


# Rows


def _passages_of(scope: SearchScope) -> str:
    parts = ["p.owner_id = %(owner)s"]
    if scope.chat_id:
        parts.append("p.chat_id = %(chat)s")
    elif scope.character_id:
        chats = "SELECT id FROM chats_chat WHERE owner_id = %(owner)s AND character_id = %(character)s"
        parts.append(f"p.chat_id IN ({chats})")
    return " AND ".join(parts)


_INHERITED = "p.id IN (SELECT memory_id FROM memories_inheritance WHERE chat_id = %(chat)s AND state = 'active')"
_ELSEWHERE = "p.character_id = %(character)s AND p.tier = 'long_term'"


def _memories_of(scope: SearchScope) -> str:
    """Return the condition of memories in the scope.

    The state of an inherited memory is the branch's. What the character learnt in other branches of the same story
    is left out.
    """
    parts = ["p.owner_id = %(owner)s AND p.tier = ANY(%(tiers)s) AND NOT p.hidden AND p.deleted_at IS NULL"]
    active = "p.state = 'active'"
    if scope.chat_id and scope.character_id:
        other = f"{_ELSEWHERE} AND (p.chat_id IS NULL OR NOT p.chat_id = ANY(%(relatives)s))"
        parts.append(f"({active} AND (p.chat_id = %(chat)s OR ({other})) OR {_INHERITED})")
    elif scope.chat_id:
        parts.append(f"({active} AND p.chat_id = %(chat)s OR {_INHERITED})")
    elif scope.character_id:
        parts.append(f"{active} AND p.character_id = %(character)s")
    else:
        parts.append(active)
    return " AND ".join(parts)


def _rows(
    source: SearchTable, where: str, terms: QueryTerms, preset: Preset, scope: SearchScope
) -> list[dict[str, Any]]:
    """Run the statement. Return its rows by column, with the arms' values also under ``arms``."""
    sentences = len(terms.vectors) - 1
    sql = search_sql(source, where, preset, vectors=bool(terms.vectors), words=bool(terms.lexemes), sentences=sentences)
    if not sql:
        return []
    with connection.cursor() as cursor:
        cursor.execute(sql, scope.values | terms.values)
        names = [column.name for column in cursor.description]
        rows = [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]
    arms = [name for name in names if name in preset.arms]
    return [row | {"arms": {arm: float(row[arm]) for arm in arms}} for row in rows]
