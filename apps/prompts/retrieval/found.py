"""Find what the search and the priorities of memories bring for a turn, as entries that tell why each was recalled."""

from collections import defaultdict
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from uuid import UUID

from django.db.models import QuerySet

from apps.chats.models import Character, Message
from apps.common.database.compiled_queries import CompiledQuery
from apps.common.database.concurrent_reads import read_concurrently
from apps.memories.models import Memory, MemorySource
from apps.memories.quotations import quotation
from apps.memories.trigger_words import trigger_words, words_said
from apps.prompts.reasons import names_in, reasons
from apps.prompts.retrieval.choices import Choice, Wanted, choose, similarity_to
from apps.prompts.retrieval.excerpts import excerpt_around
from apps.prompts.slots.blocks import one_line
from apps.prompts.slots.definitions import LONG_TERM, SESSION, TRIGGERED
from apps.prompts.slots.entries import MESSAGES_TIER, Entry
from apps.prompts.turns import UserTurn
from apps.search.service import NO_VECTORS, QueryVectors, SearchResult


@dataclass(frozen=True)
class SourceMessage:
    """Where a memory comes from."""

    id: UUID
    chat_id: UUID
    index: int
    chat_title: str


@dataclass(frozen=True)
class ChosenMemory:
    """What a prompt needs of a memory: its text, the names in it, and the messages that it comes from.

    ``similarity`` is its cosine similarity to a turn, ``priority`` that in the prompt, ``triggers`` its trigger words
    in the turn. ``by_person``: a person edited or pinned it.

    Pinned memories have the highest priority. The others are ranked by importance and confidence, those of a session
    also by recency, similarity and whether the turn has a trigger word. ``always``: it stands in the prompt whatever
    the turn says. The priority of long-term memories does not depend on the turn, so that their block stays the same.
    """

    id: UUID
    tier: str
    kind: str
    text: str
    pinned: bool
    by_person: bool
    names: Sequence[str]
    sources: Sequence[SourceMessage]
    similarity: float
    priority: float
    triggers: Sequence[str]
    always: bool


def found_entries(
    turn: UserTurn,
    character: Character | None,
    results: Sequence[SearchResult],
    vectors: QueryVectors,
    near: Collection[UUID],
) -> dict[str, list[Entry]]:
    """Return the entries of what was found, by slot name. The arguments are as in ``Related``.

    Related to the turn are the passages, and those of the memories that the search or a trigger word found, best first.
    Some of the memories may stand in slots of their own, too, which say them already: of long-term ones, those that
    always do.
    """
    by_id = {result.id: result for result in results if result.memory}
    memories = chosen_memories(turn, (LONG_TERM.name, SESSION.name), character, list(by_id), vectors, near)
    always = {chosen.id for rows in memories.values() for chosen in rows if chosen.always}
    entries = {
        # Of two with the same priority, the newer one is kept.
        name: [
            _memory_entry(turn, chosen, by_id.get(chosen.id), chosen.priority + number * 1e-9)
            for number, chosen in enumerate(rows)
        ]
        for name, rows in memories.items()
    }
    passages = [_passage_entry(turn, result.message, result) for result in results if result.message]
    found = [replace(entry, priority=entry.score) for rows in entries.values() for entry in rows if entry.triggered]
    return {
        LONG_TERM.name: [entry for entry in entries[LONG_TERM.name] if entry.id in always],
        SESSION.name: entries[SESSION.name],
        TRIGGERED.name: sorted([*passages, *found], key=lambda entry: -entry.score),
    }


def chosen_memories(
    turn: UserTurn,
    tiers: Iterable[str],
    character: Character | None,
    required: Collection[UUID],
    vectors: QueryVectors = NO_VECTORS,
    near: Collection[UUID] = (),
) -> dict[str, list[ChosenMemory]]:
    """Return, by tier, memories that were active just before the turn, oldest first.

    These are the ones of highest priority up to the cap of the tier, those that a trigger word recalls, and those with
    an id in ``required``. ``vectors`` are those of the turn's text, ``near`` the ids of memories that are near to it.
    """
    wanted = Wanted(_triggers_in(turn, character), vectors, required, near)
    reads = {tier: partial(choose, turn, tier, character, wanted) for tier in tiers}
    chosen: dict[str, list[Choice]] = dict(zip(reads, read_concurrently(*reads.values()), strict=True))
    ids = [choice.id for choices in chosen.values() for choice in choices]
    rows = {row.pk: row for row in ROWS.rows(turn.owner_id, ids, vectors.model, vectors.whole)}
    names, sources = _by_memory(NAMES.rows(ids)), _by_memory(SOURCES.rows(ids))
    return {
        tier: [
            ChosenMemory(
                id=row.pk,
                tier=row.tier,
                kind=row.kind,
                text=row.text,
                pinned=row.pinned,
                by_person=row.pinned or bool(row.edited_by),
                names=[name for (name,) in names[row.pk]],
                sources=[SourceMessage(*source) for source in sources[row.pk]],
                similarity=row.similarity,
                priority=choice.priority,
                triggers=[word for word in row.triggers if word in wanted.words],
                always=choice.always,
            )
            for choice in choices
            if (row := rows.get(choice.id))  # None if it was deleted meanwhile
        ]
        for tier, choices in chosen.items()
    }


def _triggers_in(turn: UserTurn, character: Character | None) -> list[str]:
    """Return the words of the turn that can recall memories.

    The names of the character and the persona can't: nearly every memory has them, and they say nothing about the turn.
    """
    names = trigger_words(f"{turn.chat.user_name} {character.name if character else ''}")
    return [word for word in words_said(turn.text) if word not in names]


def _by_memory(rows: Iterable[tuple[Any, ...]]) -> dict[UUID, list[tuple[Any, ...]]]:
    """Return the rest of each row, by the id of a memory in its first column."""
    grouped: dict[UUID, list[tuple[Any, ...]]] = defaultdict(list)
    for memory_id, *rest in rows:
        grouped[memory_id].append(tuple(rest))
    return grouped


def _rows(owner_id: Any, ids: Any, model: Any, vector: Any) -> QuerySet[Memory, Any]:
    present = Memory.objects.for_owner(owner_id).present().filter(pk__any=ids)
    with_similarity = present.annotate(similarity=similarity_to(model, vector)).order_by()
    columns = ("pk", "tier", "kind", "text", "pinned", "edited_by", "triggers", "similarity")
    rows: QuerySet[Memory, Any] = with_similarity.values_list(*columns, named=True)
    return rows


def _names(ids: Any) -> QuerySet[Any, Any]:
    links = Memory.entities.through._base_manager.filter(memory__id__any=ids)
    return links.order_by("entity").values_list("memory", "entity__name")


def _sources(ids: Any) -> QuerySet[MemorySource, Any]:
    visible = MemorySource._base_manager.filter(memory__id__any=ids, message__chat__deleted_at=None)
    columns = ("memory", "message", "message__chat", "message__index", "message__chat__title")
    return visible.order_by("pk").values_list(*columns)


ROWS: CompiledQuery[Any] = CompiledQuery(_rows)
NAMES: CompiledQuery[Any] = CompiledQuery(_names)
SOURCES: CompiledQuery[Any] = CompiledQuery(_sources)


def _memory_entry(turn: UserTurn, chosen: ChosenMemory, result: SearchResult | None, priority: float) -> Entry:
    """Return the entry of a memory, with the score of ``result`` if the search found it."""
    signals = result.signals if result else {"vector": max(chosen.similarity, 0.0)}
    source = _latest_source(turn, chosen.sources)
    return Entry(
        id=chosen.id,
        tier=chosen.tier,
        kind=chosen.kind,
        line=one_line(chosen.text),
        priority=priority,
        score=result.score if result else signals["vector"],
        why=reasons(
            names=names_in(turn.text, chosen.names),
            origin=_describe_origin(turn, source),
            signals=signals,
            pinned=chosen.pinned,
            triggers=chosen.triggers,
        ),
        source_message=source.id if source else None,
        signals=signals,
        triggered=result is not None or bool(chosen.triggers),
        by_person=chosen.by_person,
    )


def _passage_entry(turn: UserTurn, message: Message, result: SearchResult) -> Entry:
    source = SourceMessage(message.pk, message.chat_id, message.index, message.chat.title)
    return Entry(
        id=message.pk,
        tier=MESSAGES_TIER,
        kind="said",
        line=one_line(quotation(message.name, excerpt_around(message.mes, result.matched_sentence))),
        priority=result.score,
        score=result.score,
        why=reasons(
            names=names_in(turn.text, [message.name]), origin=_describe_origin(turn, source), signals=result.signals
        ),
        source_message=message.pk,
        signals=result.signals,
        triggered=True,
    )


def _latest_source(turn: UserTurn, sources: Sequence[SourceMessage]) -> SourceMessage | None:
    """Return the latest source message before the turn, else the latest one in another chat, else None."""
    here = [source for source in sources if source.chat_id == turn.chat.pk and source.index < turn.index]
    elsewhere = [source for source in sources if source.chat_id != turn.chat.pk]
    return max(here or elsewhere, key=lambda source: source.index, default=None)


def _describe_origin(turn: UserTurn, source: SourceMessage | None) -> str:
    """Return a text such as "214 messages ago" or "in “Another chat”", or an empty string if neither is known."""
    if source is None or (source.chat_id == turn.chat.pk and source.index >= turn.index):
        return ""
    if source.chat_id != turn.chat.pk:
        return f"in “{source.chat_title}”"
    distance = turn.index - source.index
    return f"{distance:,} {'message' if distance == 1 else 'messages'} ago"
