"""Entries of what was found for a turn, memories and passages, with the reason why each was recalled."""

from collections.abc import Mapping, Sequence

from apps.chats.models import Message
from apps.memories.quotations import quotation
from apps.prompts.reasons import names_in, reasons
from apps.prompts.retrieval.active import ActiveMemory, SourceMessage
from apps.prompts.retrieval.excerpts import excerpt_around
from apps.prompts.slots.blocks import one_line
from apps.prompts.slots.definitions import TRIGGERED
from apps.prompts.slots.entries import MESSAGES_TIER, Entry
from apps.prompts.turns import UserTurn
from apps.search.service import SearchResult


def found_entries(
    turn: UserTurn, results: Sequence[SearchResult], memories: Mapping[str, Sequence[ActiveMemory]]
) -> dict[str, list[Entry]]:
    """Return the entries of memories by slot name, and those of the passages among the search's results."""
    results_by_id = {result.id: result for result in results if result.memory}
    entries = {
        # Of two with the same priority, the newer one is kept.
        name: [
            _memory_entry(turn, active, results_by_id.get(active.id), active.priority + number * 1e-9)
            for number, active in enumerate(rows)
        ]
        for name, rows in memories.items()
    }
    entries[TRIGGERED.name] = [_passage_entry(turn, result.message, result) for result in results if result.message]
    return entries


def _memory_entry(turn: UserTurn, active: ActiveMemory, result: SearchResult | None, priority: float) -> Entry:
    """Return the entry of a memory, with the score of ``result`` if the search found it."""
    signals = result.signals if result else {"vector": max(active.similarity, 0.0)}
    source = _latest_source(turn, active.sources)
    return Entry(
        id=active.id,
        tier=active.tier,
        kind=active.kind,
        line=one_line(active.text),
        priority=priority,
        score=result.score if result else signals["vector"],
        why=reasons(
            names=names_in(turn.text, active.names),
            origin=_describe_origin(turn, source),
            signals=signals,
            pinned=active.pinned,
            triggers=active.triggers,
        ),
        source_message=source.id if source else None,
        signals=signals,
        triggered=result is not None or bool(active.triggers),
        by_person=active.by_person,
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
