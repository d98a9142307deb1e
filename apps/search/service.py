"""Search: parse the query, fetch hits, rank them, and load the best."""

import datetime as dt
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any
from uuid import UUID

import numpy as np
import structlog
from django.utils import timezone
from pgvector import Vector

from apps.chats.models import Message
from apps.chats.queries.keys import keys_of_id
from apps.common.database.concurrent_reads import read_concurrently
from apps.common.database.replica import from_replica
from apps.common.scoping import Owner, owner_id_of
from apps.llm.backends.selection import embedder_for
from apps.llm.embeddings import EmbeddingUnavailable
from apps.memories.models import JournalEntry, Memory
from apps.search.excerpts import best_sentence, excerpt
from apps.search.hits import EncodedQuery, find_entries, find_memories, find_messages, speakers_in
from apps.search.presets import DIALOGUE, PRESETS, SearchPreset
from apps.search.questions import ParsedQuery, parse_query, vector_preference
from apps.search.ranking import RankedHit, rank
from apps.search.scope import JOURNAL, MESSAGES, SearchFilters, SearchScope
from apps.search.small_talk import says_any, small_talk_in
from apps.search.times import times_in
from apps.text.lexemes import lexemes_of

TIERS = (*Memory.Tier.values, MESSAGES)  # of a prompt
ALL_TIERS = (*TIERS, JOURNAL)

log = structlog.get_logger(__name__)


@dataclass(frozen=True)
class SearchQuery(SearchFilters):
    """A query and where to search: everywhere, in a chat, or in a character's chats and memories.

    With both, a chat and its character's long-term memories are searched.
    """

    query: str
    chat: UUID | None = None
    character: UUID | None = None
    tiers: Collection[str] = TIERS
    limit: int = 10
    min_score: float = 0.0
    preset: str = "default"

    def scope(self, owner_id: UUID) -> SearchScope:
        """Return the rows of the owner that are searched."""
        chat = keys_of_id(owner_id, self.chat) if self.chat else None
        filters = {field.name: getattr(self, field.name) for field in fields(SearchFilters)}
        return SearchScope(owner_id, self.tiers, chat, self.character, **filters)


@dataclass(frozen=True)
class SearchResult:
    """A memory, a message or a journal entry with its score (0 to 1), the signals behind it, and an excerpt."""

    tier: str
    memory: Memory | None
    message: Message | None
    entry: JournalEntry | None
    score: float
    signals: Mapping[str, float]
    matched_sentence: str
    excerpt: str

    @property
    def id(self) -> UUID:
        return (self.memory or self.message or self.entry).pk  # type: ignore[union-attr]

    @property
    def text(self) -> str:
        return text_of(self.memory, self.message, self.entry)

    @property
    def said_at(self) -> dt.datetime:
        """Return when it was said; where that is not known, when it was stored."""
        if self.entry:
            return dt.datetime.combine(self.entry.starts, dt.time(), dt.UTC)
        row: Any = self.memory or self.message
        known: dt.datetime | None = row.source_sent_at if self.memory else row.sent_at
        return known or row.created_at


@dataclass(frozen=True)
class SearchResponse:
    """``method`` is "hybrid", "vector" where no words were searched, or "text" where no model is available."""

    method: str
    results: list[SearchResult]


@dataclass(frozen=True)
class QueryVectors:
    """Unit vectors, by ``model``, of the query's text and of its sentences; none if no model is available."""

    model: str = ""
    rows: Sequence[np.ndarray] = ()

    @property
    def whole(self) -> str | None:
        """Return the vector of the whole text as the database reads it, or None without one."""
        return Vector(self.rows[0]).to_text() if self.rows else None


NO_VECTORS = QueryVectors()


@dataclass(frozen=True)
class FoundHits:
    """All hits of a query, best first, without their rows. ``method`` is as in SearchResponse.

    ``small_talk``: the query consists of these phrases, so that hits are related only if they say one of them.
    """

    method: str
    hits: list[RankedHit]
    vectors: QueryVectors
    small_talk: tuple[str, ...] = ()


def search(owner: Owner, query: SearchQuery) -> SearchResponse:
    """Search the rows of ``owner``, a user or an id, and return the best results. A replica may answer."""
    return from_replica(partial(_search, owner, query))


def _search(owner: Owner, query: SearchQuery) -> SearchResponse:
    found = find(owner_id_of(owner), query)
    best = [ranked_hit for ranked_hit in found.hits if ranked_hit.score >= query.min_score]
    if found.small_talk:
        said = [each for each in load(owner, best, query.query) if says_any(each.text, found.small_talk)]
        return SearchResponse(found.method, said[: query.limit])
    return SearchResponse(found.method, load(owner, best[: query.limit], query.query))


def find(owner_id: UUID, query: SearchQuery) -> FoundHits:
    """Search the rows of the owner, and return all hits."""
    preset = PRESETS[query.preset]
    scope = query.scope(owner_id)
    speakers = speakers_in(scope) if preset.separate_names else []
    parsed = parse_query(query.query, speakers, separate_names=preset.separate_names)
    if parsed.is_dialogue:
        preset = DIALOGUE
    elif preset.time_weight and (times := times_in(query.query, timezone.now())):
        parsed, preset = replace(parsed, times=times), preset.with_time()
    vectors = _vectors(owner_id, parsed, preset) if _uses(preset, "vector") else NO_VECTORS
    if not vectors.rows and not _uses(preset, "lexical"):
        preset = PRESETS["bm25"]
    lexemes = lexemes_of(parsed.text) if _uses(preset, "lexical") else []
    if len(parsed.times) == 1:  # a day, or a month of any year: also a text of it without a word of the query is found
        lexemes += parsed.times - {*lexemes}
    names = [lexemes_of(name) for name in parsed.subjects] if parsed.is_dialogue else []
    encoded = EncodedQuery(lexemes, vectors.model, vectors.rows, names, parsed.times)
    memories, others = read_concurrently(
        partial(find_memories, scope, encoded, preset, parsed, query.query),
        lambda: (find_messages(scope, encoded, preset, parsed, speakers), find_entries(scope, encoded, preset, parsed)),
    )
    messages, entries = others
    hits = [*messages, *memories, *entries]
    method = "text" if not encoded.vectors else "hybrid" if encoded.lexemes else "vector"
    ranked = rank(hits, preset, vector_preference(speakers))
    return FoundHits(method, ranked, vectors, small_talk_in(parsed.text))


def _uses(preset: SearchPreset, retriever: str) -> bool:
    return any(retriever in name for name in preset.retrievers)


def _vectors(owner_id: UUID, parsed: ParsedQuery, preset: SearchPreset) -> QueryVectors:
    """Return the vectors of the whole query and of its sentences, or none if no model is available."""
    sentences = parsed.sentences if preset.whole_query_share < 1 else ()
    try:
        embedder = embedder_for(owner_id)
        return QueryVectors(embedder.model, list(embedder.embed_queries([parsed.text, *sentences])))
    except EmbeddingUnavailable:
        log.warning("search_without_vectors")
        return NO_VECTORS


def load(owner: Owner, ranked: Sequence[RankedHit], query: str, *, with_history: bool = True) -> list[SearchResult]:
    """Load the rows of ranked hits, memories also with what a page shows. Exclude rows deleted in the meantime."""
    ids = {tier: [each.id for each in ranked if each.hit.tier == tier] for tier in (MESSAGES, JOURNAL)}
    memory_ids = [each.id for each in ranked if each.is_memory]
    visible = Memory.objects.for_owner(owner).present().filter(hidden=False).defer("embedding", "lexemes")
    memories = (visible.with_history() if with_history else visible).in_bulk(memory_ids)
    messages = Message.objects.for_owner(owner).with_swipes().select_related("chat").in_bulk(ids[MESSAGES])
    entries = JournalEntry.objects.for_owner(owner).present().prefetch_related("sources").in_bulk(ids[JOURNAL])
    return [
        _result(each, memories.get(each.id), messages.get(each.id), entries.get(each.id), query)
        for each in ranked
        if each.id in memories or each.id in messages or each.id in entries
    ]


def text_of(memory: Memory | None, message: Message | None, entry: JournalEntry | None) -> str:
    """Return the text of the one that is given."""
    return memory.text if memory else message.mes if message else entry.text if entry else ""


def _result(
    ranked: RankedHit, memory: Memory | None, message: Message | None, entry: JournalEntry | None, query: str
) -> SearchResult:
    text = text_of(memory, message, entry)
    sentence = best_sentence(text, query)
    return SearchResult(
        tier=ranked.hit.tier,
        memory=memory,
        message=message,
        entry=entry,
        score=ranked.score,
        signals=ranked.signals,
        matched_sentence=sentence,
        excerpt=excerpt(text, sentence),
    )
