"""Find what may stand in the slots of a turn, of active memories and of search results, and fill them with it."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from apps.chats.models import Character, Message
from apps.common.database.concurrent_reads import read_concurrently
from apps.memories.quotations import quotation
from apps.memories.secrets import Secrets, secrets_kept_from
from apps.memories.witnesses import participants_of
from apps.prompts.retrieval.active import ActiveMemory, SourceMessage, active_memories
from apps.prompts.retrieval.excerpts import excerpt_around
from apps.prompts.retrieval.layers import LAYERS
from apps.prompts.retrieval.reasons import names_in, reasons
from apps.prompts.retrieval.related import MESSAGES_TIER, search_related
from apps.prompts.slots.blocks import join_blocks, one_line
from apps.prompts.slots.budgets import CountFunction, FittedItems
from apps.prompts.slots.definitions import EPISTEMIC, LONG_TERM, RECALLED, SESSION, TRIGGERED
from apps.prompts.slots.entries import Entry
from apps.prompts.slots.filling import Candidates, Filling, fill
from apps.prompts.slots.plan import Plan
from apps.prompts.turns import UserTurn
from apps.search.service import SearchResult

PROTECTION = 5.0  # added to the priority of protected entries; less than the weight of a pinned memory
PROTECTED_KINDS = {LONG_TERM.name: ("relationship", "preference", "fact"), SESSION.name: ("development", "scene")}


@dataclass(frozen=True)
class RetrievalResult:
    """The slots of a turn, filled with what was retrieved for it.

    Without vectors, only words were searched. ``count`` counts the tokens of the user's model.
    """

    turn: UserTurn
    filling: Filling
    count: CountFunction
    has_vectors: bool = True

    @property
    def fitted(self) -> Mapping[str, FittedItems[Entry]]:
        return self.filling.fitted

    @property
    def budgets(self) -> Mapping[str, int]:
        return self.filling.budgets

    @property
    def text(self) -> str:
        """Return the text that a recall stores."""
        return join_blocks(self.fitted[slot.name].text for slot in RECALLED)

    @property
    def tokens(self) -> int:
        return self.count(self.text)

    def documents(self) -> list[dict[str, Any]]:
        """Return the entries in the text as JSON objects, triggered ones first, then by score."""
        entries = [(entry, slot.name) for slot in RECALLED for entry in self.fitted[slot.name].kept]
        entries.sort(key=lambda pair: (not pair[0].triggered, -pair[0].score, str(pair[0].id)))
        return [entry.document(name) for entry, name in entries]

    def left_out(self) -> list[dict[str, Any]]:
        """Return the entries that no budget had room for as JSON objects, the most important of a slot first.

        Each has the ``budget`` of its slot. One that another slot has room for is not left out.
        """
        kept = {entry.id for slot in RECALLED for entry in self.fitted[slot.name].kept}
        return [
            {**entry.document(slot.name), "budget": self.budgets[slot.name]}
            for slot in RECALLED
            for entry in sorted(self.fitted[slot.name].left_out, key=lambda entry: -entry.priority)
            if entry.id not in kept
        ]


def retrieve(turn: UserTurn, character: Character | None, plan: Plan) -> RetrievalResult:
    """Find what was known just before a turn, and fill the slots with it within the budgets of ``plan``.

    Raise EmbeddingUnavailable, OperationalError.
    """
    related, layers = read_concurrently(
        partial(search_related, turn, character, plan.surely_shown()), partial(layer_entries, turn, character, plan)
    )
    required = [result.id for result in related.results if result.memory]
    tiers = (LONG_TERM.name, SESSION.name)
    memories = active_memories(turn, tiers, character, required, related.vectors, related.near)
    filling = fill(plan, _candidates(turn, character, related.results, memories, layers))
    return RetrievalResult(turn, filling, plan.count, not related.lacks_vectors)


def _candidates(
    turn: UserTurn,
    character: Character | None,
    results: Sequence[SearchResult],
    memories: Mapping[str, Sequence[ActiveMemory]],
    layers: Mapping[str, Sequence[Entry]],
) -> Candidates:
    """Return the entries that may be told, of layers and ``memories`` by slot name, and of the search's results."""
    results_by_id = {result.id: result for result in results if result.memory}
    found = {
        # Of two with the same priority, the newer one is kept.
        name: [
            _memory_entry(turn, active, results_by_id.get(active.id), active.priority + number * 1e-9)
            for number, active in enumerate(rows)
        ]
        for name, rows in memories.items()
    }
    passages = [_passage_entry(turn, result.message, result) for result in results if result.message]
    told = tellable(turn, character, {**layers, **found, TRIGGERED.name: passages})
    related_entries = _triggered_entries(told.pop(TRIGGERED.name), [*told[LONG_TERM.name], *told[SESSION.name]])
    always = {active.id for active in memories[LONG_TERM.name] if active.always}
    told[LONG_TERM.name] = [entry for entry in told[LONG_TERM.name] if entry.id in always]
    protected = {name: _protect(items, PROTECTED_KINDS.get(name, ())) for name, items in told.items()}
    return Candidates(protected, related_entries)


def layer_entries(turn: UserTurn, character: Character | None, plan: Plan) -> dict[str, list[Entry]]:
    """Return the entries that no search is needed for, by slot name; before ``tellable``."""
    return {name: read(turn, character) if plan.slots[name].enabled else [] for name, read in LAYERS.items()}


def secrets_of(turn: UserTurn, character: Character | None) -> Secrets:
    """Return what was kept from the character just before the turn.

    Without a character, in a group, anyone may speak: what is kept from any member.
    """
    names = [character.name] if character else [member.name for member in participants_of(turn.chat)]
    return secrets_kept_from(names, turn.knowledge)


def tellable(
    turn: UserTurn, character: Character | None, entries: Mapping[str, Sequence[Entry]]
) -> dict[str, list[Entry]]:
    """Return the entries, by slot name, that tell the character no secret; of several sentences the others.

    All entries of a prompt pass here before they fill a slot.
    """
    secrets = secrets_of(turn, character)

    def without_secrets(items: Sequence[Entry]) -> list[Entry]:
        lines = [(entry, secrets.without(entry.line)) for entry in items]
        return [entry if line == entry.line else replace(entry, line=line) for entry, line in lines if line]

    # What characters suspect or believe is in their own mind, also where they don't know that it is so.
    return {name: list(items) if name == EPISTEMIC.name else without_secrets(items) for name, items in entries.items()}


def _protect(entries: Sequence[Entry], kinds: Sequence[str]) -> list[Entry]:
    """Raise the priority of the best entry of each of ``kinds``, and of the newest one: the current moment."""
    if not kinds:
        return list(entries)
    of_kind = [max((e for e in entries if e.kind == kind), key=lambda e: e.priority, default=None) for kind in kinds]
    protected = {entry.id for entry in [*of_kind, *entries[-1:]] if entry}
    return [replace(e, priority=e.priority + PROTECTION) if e.id in protected else e for e in entries]


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


def _triggered_entries(passages: Iterable[Entry], memories: Iterable[Entry]) -> list[Entry]:
    """Return the passages, and those of the memories that the search or a trigger word found, best first.

    Some of the memories may stand in slots of their own, which say them already.
    """
    found = [replace(entry, priority=entry.score) for entry in memories if entry.triggered]
    return sorted([*passages, *found], key=lambda entry: -entry.score)


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
