"""What a turn brings to mind: the slots filled from what is remembered and from what was said."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from apps.chats.models import Character, Message
from apps.injection.budgets import Fitted, fit
from apps.injection.entries import Entry
from apps.injection.excerpts import around
from apps.injection.overlap import is_covered
from apps.injection.reasons import names_in, why
from apps.injection.rendering import join_blocks, one_line, render_block
from apps.injection.slots import LONG_TERM, SESSION, TRIGGERED, Slot
from apps.injection.standing import Standing, known_before, standing_memories
from apps.injection.turns import Turn
from apps.llm.tokens import count_tokens
from apps.memories.models import Memory
from apps.memories.search import SearchQuery, SearchReply, SearchResult, search
from apps.memories.witnesses import participant_of, participants_of, witnesses

VISIBLE_TURNS = 20  # what was said within them still stands in the history
POOL = 100  # results of the search that are looked through
FOUND = {"memories": 6, "messages": 4}  # how many of them count as brought to mind
NEAR = 0.2  # cosine below which all-MiniLM-L6-v2's likeness is chance
NEAR_BEST = 0.6  # of the best cosine, below which the rest is beside the point
SHARED_WORDS = 0.3  # share of the turn's words that counts as near where there are no vectors
MESSAGES = "messages"


@dataclass(frozen=True)
class Recollection:
    """The filled slots of a turn, by slot name."""

    turn: Turn
    fitted: Mapping[str, Fitted[Entry]]

    @property
    def text(self) -> str:
        return join_blocks(fitted.text for fitted in self.fitted.values())

    def documents(self) -> list[dict[str, Any]]:
        """Every entry that is in the text: those that the turn triggered first, then by score."""
        entries = [(entry, name) for name, fitted in self.fitted.items() for entry in fitted.kept]
        entries.sort(key=lambda pair: (not pair[0].triggered, -pair[0].score, str(pair[0].id)))
        return [entry.document(name) for entry, name in entries]


def recall(turn: Turn, character: Character | None, budgets: Mapping[str, int]) -> Recollection:
    """Fill the slots for a turn, as of just before it. Raises EmbeddingUnavailable, OperationalError."""
    results = _search(turn, character)
    found = {result.id: result for result in results if result.memory}
    fitted: dict[str, Fitted[Entry]] = {}
    kept: list[Entry] = []
    others: list[Entry] = []
    memories = standing_memories(turn, (LONG_TERM.name, SESSION.name), character, found)
    for slot in (LONG_TERM, SESSION):
        entries = [_memory_entry(turn, standing, found.get(standing.memory.pk)) for standing in memories[slot.name]]
        fitted[slot.name] = _fit(slot, _unsaid(entries, kept), budgets)
        kept += fitted[slot.name].kept
        others += [entry for entry in entries if entry not in kept]
    fitted[TRIGGERED.name] = _fit(TRIGGERED, _unsaid(_triggered(turn, results, others), kept), budgets)
    return Recollection(turn, fitted)


def _unsaid(entries: Iterable[Entry], kept: Sequence[Entry]) -> list[Entry]:
    """The entries that say something which none of those kept in other slots says."""
    return [entry for entry in entries if not any(is_covered(entry.line, other.line) for other in kept)]


def _fit(slot: Slot, entries: Sequence[Entry], budgets: Mapping[str, int]) -> Fitted[Entry]:
    return fit(entries, budgets[slot.name], partial(render_block, slot.heading), count_tokens)


def _search(turn: Turn, character: Character | None) -> list[SearchResult]:
    """What the turn's words find among the memories as they stood then and what was said before."""
    if not turn.text.strip():
        return []
    query = SearchQuery(
        query=turn.text,
        chat=turn.chat.pk,
        character=character.pk if character else None,
        tiers=(LONG_TERM.name, SESSION.name, MESSAGES),
        before=max(turn.index - VISIBLE_TURNS, 0),
        limit=POOL,
    )
    results = _witnessed(turn, character, _near(search(turn.owner_id, query)))
    known = known_before(turn, [result.id for result in results if result.memory])
    memories = [result for result in results if result.id in known][: FOUND["memories"]]
    messages = [result for result in results if result.message][: FOUND["messages"]]
    return memories + messages


def _witnessed(turn: Turn, character: Character | None, results: list[SearchResult]) -> list[SearchResult]:
    """Without what one of a group, for whom the prompt is made, was not there to hear."""
    witness = participant_of(turn.chat, character)
    if witness is None:
        return results
    everybody = participants_of(turn.chat)
    return [
        result
        for result in results
        if (result.message and witness.pk in witnesses(result.message, everybody))
        or (result.memory and (not result.memory.witnessed_by or witness.pk in result.memory.witnessed_by))
    ]


def _near(reply: SearchReply) -> list[SearchResult]:
    """The results that have to do with the turn at all: scores are relative to the best, however bad that is."""
    signal = "lexical" if reply.method == "text" else "vector"
    values = [result.signals.get(signal, 0.0) for result in reply.results]
    least = SHARED_WORDS if reply.method == "text" else max(NEAR, NEAR_BEST * max(values, default=0.0))
    return [result for result, value in zip(reply.results, values, strict=True) if value >= least]


# Entries


def _memory_entry(turn: Turn, standing: Standing, result: SearchResult | None) -> Entry:
    """A memory with its provenance, and the search's word on it where the turn found it."""
    memory = standing.memory
    signals = result.signals if result else {"vector": max(standing.similarity, 0.0)}
    said_in = _said_in(turn, memory)
    return Entry(
        id=memory.pk,
        tier=memory.tier,
        kind=memory.kind,
        line=one_line(memory.text),
        usefulness=standing.usefulness,
        score=result.score if result else signals["vector"],
        why=why(
            names=names_in(turn.text, [entity.name for entity in memory.entities.all()]),
            said=_said_when(turn, said_in),
            signals=signals,
            pinned=memory.pinned,
        ),
        said_in=said_in.pk if said_in else None,
        signals=signals,
        triggered=result is not None,
    )


def _said_in(turn: Turn, memory: Memory) -> Message | None:
    """The latest message before the turn that the memory came from; else the latest of another chat."""
    messages = [source.message for source in memory.sources.all()]
    here = [message for message in messages if message.chat_id == turn.chat.pk and message.index < turn.index]
    elsewhere = [message for message in messages if message.chat_id != turn.chat.pk]
    return max(here or elsewhere, key=lambda message: message.index, default=None)


def _said_when(turn: Turn, message: Message | None) -> str:
    """ "214 messages ago", or in which other chat; empty where that isn't known."""
    if message is None or (message.chat_id == turn.chat.pk and message.index >= turn.index):
        return ""
    if message.chat_id != turn.chat.pk:
        return f"in “{message.chat.title}”"
    ago = turn.index - message.index
    return f"{ago:,} {'message' if ago == 1 else 'messages'} ago"


def _triggered(turn: Turn, results: Iterable[SearchResult], others: Iterable[Entry]) -> list[Entry]:
    """What was found for the turn, as far as it is not among the entries kept in other slots; best first."""
    passages = [_passage_entry(turn, result.message, result) for result in results if result.message]
    memories = [replace(entry, usefulness=entry.score) for entry in others if entry.triggered]
    return sorted(passages + memories, key=lambda entry: -entry.score)


def _passage_entry(turn: Turn, message: Message, result: SearchResult) -> Entry:
    return Entry(
        id=message.pk,
        tier=MESSAGES,
        kind="said",
        line=f"{message.name}: {around(message.mes, result.matched_sentence)}",
        usefulness=result.score,
        score=result.score,
        why=why(
            names=[message.name] if names_in(turn.text, [message.name]) else [],
            said=_said_when(turn, message),
            signals=result.signals,
        ),
        said_in=message.pk,
        signals=result.signals,
        triggered=True,
    )
