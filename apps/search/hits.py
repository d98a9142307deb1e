"""Fetch the rows that match a query, with their signals, from Postgres."""

from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

import numpy as np
from django.db.models.expressions import RawSQL
from django.utils import timezone

from apps.common.database.compiled_queries import CompiledQuery
from apps.common.database.named_parameters import named_sql
from apps.common.database.replica import reading_connection
from apps.common.scoping import OWN_NAMESPACE
from apps.memories.journal.periods import Granularity
from apps.memories.models import Memory
from apps.search.presets import SearchPreset
from apps.search.questions import ParsedQuery, Speaker, mentions
from apps.search.ranking import Hit, TurnPosition, recency, relative_length
from apps.search.scan import ALL_FIRST, RowsToScan, SearchTable, best_rows
from apps.search.scope import (
    JOURNAL,
    MESSAGES,
    SearchScope,
    chats_condition,
    entities_condition,
    entries_condition,
    memories_in,
    messages_condition,
    namespace_condition,
    passages_condition,
)
from apps.text.lexemes import match_any_query, match_names_query
from apps.text.periods import day_lexemes

PASSAGES = SearchTable(
    table="memories_passage",
    vectors={"vector": "embedding", "window_vector": "window_embedding"},
    words={"lexical": ("", "p.length"), "window_lexical": ("window_", "p.window_length")},
    sampled_first="p.chat_id DESC",  # those of the newest chat
    columns="m.id, p.chat_id, p.session, m.index, p.speaker, p.is_user, p.is_question, p.length,"
    " p.lexemes @@ %(names)s::tsquery AS names_subject, p.lexemes @@ %(times)s::tsquery AS names_time,"
    " extract(epoch FROM now() - coalesce(m.sent_at, m.created_at))::float / 86400 AS age",
    joins="JOIN chats_message m ON m.id = p.message_id",
)
MEMORIES = SearchTable(
    table="memories_memory",
    vectors={"vector": "embedding"},
    words={"lexical": ("", "length(p.lexemes)")},
    sampled_first="p.namespace, p.id DESC",  # of a namespace, the newest first
    columns="p.id, p.tier, p.text, p.importance, p.pinned, p.source_instance, p.participating_instances,"
    " p.lexemes @@ %(times)s::tsquery AS names_time, coalesce(v.sent_at, p.created_at)::date AS day,"
    " extract(epoch FROM now() - p.created_at)::float / 86400 AS age",
    joins="LEFT JOIN chats_message v ON v.id = p.valid_from_id",
)
SCANNED = ("id", "embedding", "embedding_model", "lexemes", "terms")  # columns of memories that a scan reads
TERMS = RawSQL('"memories_memory"."terms"', ())  # no field of the model: nothing else reads them
# Which of the first memories of a scan are copies, as those of one chat never are. Its only parameter is the owner.
COPIES: CompiledQuery[Memory] = CompiledQuery(
    lambda owner: (
        Memory.objects.for_owner(owner)
        .filter(pk__in=RawSQL(ALL_FIRST, ()))  # noqa: S611 - our own constant
        .copies(owner)
        .order_by()
        .values("pk")
    )
)
ENTRIES = SearchTable(
    table="memories_journalentry",
    vectors={"vector": "embedding"},
    words={"lexical": ("", "length(p.lexemes)")},
    sampled_first="p.id DESC",
    columns="p.id, p.granularity, p.text, p.instance, p.starts, p.ends, p.lexemes @@ %(times)s::tsquery AS names_time",
)


@dataclass(frozen=True)
class EncodedQuery:
    """The query's lexemes, and the unit vectors of the whole query and of each sentence, by ``model``.

    ``names`` are the lexemes of each name by which a text tells that it is about a subject of the query, ``times``
    those by which it tells that it is about its time.
    """

    lexemes: Sequence[str]
    model: str = ""
    vectors: Sequence[np.ndarray] = ()
    names: Sequence[Sequence[str]] = ()
    times: Collection[str] = ()

    @property
    def parameters(self) -> dict[str, Any]:
        """Return the parameters of the scores."""
        texts = ["[" + ",".join(map(str, vector.tolist())) + "]" for vector in self.vectors]
        sentences = {f"sentence_{number}": text for number, text in enumerate(texts[1:])}
        common = {"lexemes": list(self.lexemes), "any": match_any_query(self.lexemes), "model": self.model}
        common |= {"names": match_names_query(self.names), "times": match_any_query(self.times)}
        return common | sentences | ({"whole": texts[0]} if texts else {})


def speakers_in(scope: SearchScope) -> list[Speaker]:
    """Return the speakers in the messages of the scope, those with most messages first."""
    sql = f"""
        SELECT p.speaker, p.is_user, count(*), sum(p.length)
        FROM {PASSAGES.rows_where(passages_condition(scope))} GROUP BY p.speaker, p.is_user ORDER BY 3 DESC
    """  # noqa: S608 - composed of our own constants
    with reading_connection().cursor() as cursor:
        cursor.execute(sql, scope.parameters)
        return [Speaker(*row) for row in cursor.fetchall()]


def find_messages(
    scope: SearchScope, encoded: EncodedQuery, preset: SearchPreset, parsed: ParsedQuery, speakers: Sequence[Speaker]
) -> list[Hit]:
    """Return the messages of the scope that any retriever finds."""
    if MESSAGES not in scope.tiers or scope.only_memories:
        return []
    mean_lengths = _mean_turn_lengths(speakers)
    scanned = PASSAGES.rows_where(messages_condition(scope))
    to_scan = RowsToScan(scanned, scope.parameters, sampled=PASSAGES.rows_where(chats_condition(scope)))
    rows = best_rows(PASSAGES, to_scan, preset, encoded.parameters)
    return [_message_hit(row, parsed, mean_lengths) for row in rows]


def _mean_turn_lengths(speakers: Sequence[Speaker]) -> dict[bool, float]:
    """Return the mean number of words in a turn by ``is_user``."""
    turns: dict[bool, int] = defaultdict(int)
    words: dict[bool, int] = defaultdict(int)
    for speaker in speakers:
        turns[speaker.is_user] += speaker.turns
        words[speaker.is_user] += speaker.words
    return {is_user: words[is_user] / turns[is_user] for is_user in turns}


def _message_hit(row: dict[str, Any], parsed: ParsedQuery, mean_lengths: dict[bool, float]) -> Hit:
    traits = {
        "subject": float(row["speaker"] in parsed.subjects or bool(row["names_subject"])),
        "time": float(bool(row["names_time"])),  # its lexemes have its own day
        "length": relative_length(row["length"], mean_lengths.get(row["is_user"], 0)),
        "question": float(row["is_question"]),
        "recency": recency(row["age"]),
    }
    turn = TurnPosition(row["chat_id"], row["session"], row["index"], row["speaker"], row["is_question"])
    return Hit(row["id"], MESSAGES, row["retrievers"], traits, turn)


def find_memories(
    scope: SearchScope, encoded: EncodedQuery, preset: SearchPreset, parsed: ParsedQuery, text: str
) -> list[Hit]:
    """Return the memories of the scope that any retriever finds.

    A memory has no turns around it, so the signals of its window are those of its text.
    """
    if not set(scope.tiers) & set(Memory.Tier.values):
        return []
    scanned, values = named_sql(memories_in(scope).annotate(terms=TERMS).order_by().values(*SCANNED), "scope")
    sampled = MEMORIES.rows_where(namespace_condition(scope))
    copies = COPIES.sql(scope.owner_id)[0].replace("%s", "%(owner)s")
    shown = ALL_FIRST if scope.chat else f"{ALL_FIRST} WHERE id NOT IN ({copies})"
    to_scan = RowsToScan(f"({scanned}) p", scope.parameters | values, sampled, shown)
    rows = best_rows(MEMORIES, to_scan, preset, encoded.parameters)
    entity_shares = _entity_shares(scope, text, [row["id"] for row in rows])
    return [_memory_hit(row, parsed, entity_shares.get(row["id"], 0.0), scope.instance) for row in rows]


def _memory_hit(row: dict[str, Any], parsed: ParsedQuery, entity_share: float, instance: str | None) -> Hit:
    instances = {row["source_instance"], *row["participating_instances"]}
    window_retrievers = {f"window_{name}": value for name, value in row["retrievers"].items()}
    traits = {
        "subject": float(any(mentions(row["text"], name) for name in parsed.subjects)),
        "time": float(bool(row["names_time"]) or not parsed.times.isdisjoint(day_lexemes(row["day"], row["day"]))),
        "recency": recency(row["age"]),
        "graph": entity_share,
        "instance": float(bool(instance) and instance in instances),
        "importance": (row["importance"] - 1) / 2,
        "pinned": float(row["pinned"]),
    }
    return Hit(row["id"], row["tier"], row["retrievers"] | window_retrievers, traits)


def find_entries(scope: SearchScope, encoded: EncodedQuery, preset: SearchPreset, parsed: ParsedQuery) -> list[Hit]:
    """Return the journal entries of the scope that any retriever finds.

    None name a character, and none tell of an end user of the owner's application.
    """
    if JOURNAL not in scope.tiers or scope.only_memories or (scope.character and not scope.chat):
        return []
    if scope.namespace != OWN_NAMESPACE and not scope.chat:
        return []
    to_scan = RowsToScan(ENTRIES.rows_where(entries_condition(scope)), scope.parameters)
    rows = best_rows(ENTRIES, to_scan, preset, encoded.parameters)
    return [_entry_hit(row, parsed, scope.instance) for row in rows]


def _entry_hit(row: dict[str, Any], parsed: ParsedQuery, instance: str | None) -> Hit:
    window_retrievers = {f"window_{name}": value for name, value in row["retrievers"].items()}
    traits = {
        "subject": float(any(mentions(row["text"], name) for name in parsed.subjects)),
        "time": float(bool(row["names_time"]) or not parsed.times.isdisjoint(day_lexemes(row["starts"], row["ends"]))),
        "recency": recency((timezone.now().date() - row["ends"]).days),
        "instance": float(bool(instance) and instance == row["instance"]),
        "importance": float(row["granularity"] == Granularity.SIGNIFICANT),
    }
    return Hit(row["id"], JOURNAL, row["retrievers"] | window_retrievers, traits)


def _entity_shares(scope: SearchScope, query: str, memory_ids: Sequence[UUID]) -> dict[UUID, float]:
    """Return, for each memory, the share of the query's entities that it names."""
    sql = f"""
        SELECT id, name FROM memories_entity WHERE {entities_condition(scope)} AND strpos(%(query)s, lower(name)) > 0
    """  # noqa: S608 - composed of our own constants
    with reading_connection().cursor() as cursor:
        cursor.execute(sql, scope.parameters | {"query": query.lower()})
        rows = cursor.fetchall()
    # Entities of different chats can share a name. In queries, names of things often lack capital letters.
    names_by_id = {pk: name.casefold() for pk, name in rows if mentions(query.casefold(), name.casefold())}
    if not names_by_id:
        return {}
    links = Memory.entities.through.objects.filter(memory_id__in=memory_ids, entity_id__in=names_by_id)
    names: dict[UUID, set[str]] = defaultdict(set)
    for memory_id, entity_id in links.values_list("memory_id", "entity_id"):
        names[memory_id].add(names_by_id[entity_id])
    return {memory_id: len(matched) / len(set(names_by_id.values())) for memory_id, matched in names.items()}
