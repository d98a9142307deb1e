"""Fill the slots for a turn with active memories and with search results."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from apps.chats.models import Character, Message
from apps.injection.retrieval.active import ActiveMemory, active_memories
from apps.injection.retrieval.entries import Entry
from apps.injection.retrieval.excerpts import excerpt_around
from apps.injection.retrieval.overlap import is_covered
from apps.injection.retrieval.reasons import names_in, reasons
from apps.injection.retrieval.related import MESSAGES_TIER, search_related
from apps.injection.retrieval.story import repair_entries, scene_entries
from apps.injection.slots.blocks import join_blocks, one_line, render_block
from apps.injection.slots.budgets import FittedItems, fit
from apps.injection.slots.definitions import LONG_TERM, REPAIR, SCENES, SESSION, SLOTS, TRIGGERED, Slot
from apps.injection.turns import UserTurn
from apps.llm.tokens import count_tokens
from apps.memories.models import Memory
from apps.memories.search import SearchResult


@dataclass(frozen=True)
class RetrievalResult:
    """The entries retrieved for a turn, by slot name."""

    turn: UserTurn
    fitted: Mapping[str, FittedItems[Entry]]

    @property
    def text(self) -> str:
        return join_blocks(fitted.text for fitted in self.fitted.values())

    def documents(self) -> list[dict[str, Any]]:
        """Return the entries in the text as JSON objects, triggered ones first, then by score."""
        entries = [(entry, name) for name, fitted in self.fitted.items() for entry in fitted.kept]
        entries.sort(key=lambda pair: (not pair[0].triggered, -pair[0].score, str(pair[0].id)))
        return [entry.document(name) for entry, name in entries]


def retrieve(turn: UserTurn, character: Character | None, budgets: Mapping[str, int]) -> RetrievalResult:
    """Fill the slots with what was known just before a turn, within ``budgets`` (tokens by slot name).

    Raise EmbeddingUnavailable, OperationalError.
    """
    results = search_related(turn, character)
    results_by_id = {result.id: result for result in results if result.memory}
    fitted: dict[str, FittedItems[Entry]] = {}
    kept: list[Entry] = []
    left_out: list[Entry] = []
    memories = active_memories(turn, (LONG_TERM.name, SESSION.name), character, results_by_id)
    for slot in (LONG_TERM, SESSION):
        entries = [_memory_entry(turn, active, results_by_id.get(active.memory.pk)) for active in memories[slot.name]]
        fitted[slot.name] = _fit(slot, _without_repetitions(entries, kept), budgets)
        kept += fitted[slot.name].kept
        left_out += [entry for entry in entries if entry not in kept]
    fitted[SCENES.name] = _fit(SCENES, scene_entries(turn, character), budgets)
    fitted[REPAIR.name] = _fit(REPAIR, repair_entries(turn, character), budgets)
    triggered = _without_repetitions(_triggered_entries(turn, results, left_out), kept)
    fitted[TRIGGERED.name] = _fit(TRIGGERED, triggered, budgets)
    return RetrievalResult(turn, {slot.name: fitted[slot.name] for slot in SLOTS})


def _without_repetitions(entries: Iterable[Entry], kept: Sequence[Entry]) -> list[Entry]:
    """Return the entries that don't repeat any of ``kept``, which are in other slots."""
    return [entry for entry in entries if not any(is_covered(entry.line, other.line) for other in kept)]


def _fit(slot: Slot, entries: Sequence[Entry], budgets: Mapping[str, int]) -> FittedItems[Entry]:
    return fit(entries, budgets[slot.name], partial(render_block, slot.heading), count_tokens)


def _memory_entry(turn: UserTurn, active: ActiveMemory, result: SearchResult | None) -> Entry:
    """Return the entry of a memory, with the score of ``result`` if the search found it."""
    memory = active.memory
    signals = result.signals if result else {"vector": max(active.similarity, 0.0)}
    source = _source_message(turn, memory)
    return Entry(
        id=memory.pk,
        tier=memory.tier,
        kind=memory.kind,
        line=one_line(memory.text),
        priority=active.priority,
        score=result.score if result else signals["vector"],
        why=reasons(
            names=names_in(turn.text, [entity.name for entity in memory.entities.all()]),
            origin=_describe_origin(turn, source),
            signals=signals,
            pinned=memory.pinned,
            triggers=active.triggers,
        ),
        source_message=source.pk if source else None,
        signals=signals,
        triggered=result is not None or bool(active.triggers),
    )


def _source_message(turn: UserTurn, memory: Memory) -> Message | None:
    """Return the memory's latest source message before the turn, else its latest one in another chat, else None."""
    messages = [source.message for source in memory.sources.all()]
    here = [message for message in messages if message.chat_id == turn.chat.pk and message.index < turn.index]
    elsewhere = [message for message in messages if message.chat_id != turn.chat.pk]
    return max(here or elsewhere, key=lambda message: message.index, default=None)


def _describe_origin(turn: UserTurn, message: Message | None) -> str:
    """Return a text such as "214 messages ago" or "in “Another chat”", or an empty string if neither is known."""
    if message is None or (message.chat_id == turn.chat.pk and message.index >= turn.index):
        return ""
    if message.chat_id != turn.chat.pk:
        return f"in “{message.chat.title}”"
    distance = turn.index - message.index
    return f"{distance:,} {'message' if distance == 1 else 'messages'} ago"


def _triggered_entries(turn: UserTurn, results: Iterable[SearchResult], left_out: Iterable[Entry]) -> list[Entry]:
    """Return the passages and the memories left out of other slots that the search found, best first."""
    passages = [_passage_entry(turn, result.message, result) for result in results if result.message]
    memories = [replace(entry, priority=entry.score) for entry in left_out if entry.triggered]
    return sorted(passages + memories, key=lambda entry: -entry.score)


def _passage_entry(turn: UserTurn, message: Message, result: SearchResult) -> Entry:
    return Entry(
        id=message.pk,
        tier=MESSAGES_TIER,
        kind="said",
        line=f"{message.name}: {excerpt_around(message.mes, result.matched_sentence)}",
        priority=result.score,
        score=result.score,
        why=reasons(
            names=names_in(turn.text, [message.name]), origin=_describe_origin(turn, message), signals=result.signals
        ),
        source_message=message.pk,
        signals=result.signals,
        triggered=True,
    )
