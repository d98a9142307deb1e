"""Fill the slots of a prompt with what may stand in them, each within its budget, and make the recall of a new one.

The words for this, here and in what calls it: a ``SlotPlan`` has the slots and their budgets. The ``Candidates`` are
the entries that may stand in the slots. To fit is to take into one slot those of its candidates for which its budget
has room, which makes a ``Fitted``. To fill is to fit all slots of a prompt, of which each is then a ``FilledSlot``.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Generic, Protocol, TypeVar

from apps.prompts.filling.plan import CountFunction, SlotPlan
from apps.prompts.models import Recall
from apps.prompts.slots.blocks import blocks_of_text, join_blocks, one_line, render_block
from apps.prompts.slots.definitions import LONG_TERM, RECALLED, SESSION, SLOTS, TRIGGERED, Slot
from apps.prompts.slots.entries import MESSAGES_TIER, Entry, FilledSlot
from apps.prompts.turns import UserTurn

MAX_LEFT_OUT = 10  # entries stored of those that had no room
QUOTED_SHARE = 0.7  # share of a quoted message's words that a memory must have to stand for it
_SLOT_NAMES = [slot.name for slot in SLOTS]
_WORD = re.compile(r"\w+")
RenderFunction = Callable[[Sequence[str]], str]


class SlotItem(Protocol):
    """A line of text for a slot. Items of lower ``priority`` are left out first."""

    @property
    def written(self) -> str: ...

    @property
    def priority(self) -> float: ...


Item = TypeVar("Item", bound=SlotItem)


@dataclass(frozen=True)
class Fitted(Generic[Item]):
    """The items kept, in the given order, and their rendered text.

    ``tokens`` is the number of tokens of ``text``, ``full_tokens`` that of all items. ``left_out`` are the items that
    did not fit, in the given order.
    """

    kept: list[Item]
    text: str
    tokens: int
    full_tokens: int
    left_out: list[Item]

    @property
    def trimmed(self) -> int:
        return len(self.left_out)


@dataclass(frozen=True)
class Candidates:
    """What may stand in the slots of a prompt: entries by slot name.

    ``related`` are those for the slot of what is related to the turn, best first, if the search has just found them:
    of these, nobody knows yet how much the slot needs. ``text`` stands in place of all that a recall stores.
    """

    entries: Mapping[str, Sequence[Entry]]
    related: Sequence[Entry] = ()
    text: str | None = None


@dataclass(frozen=True)
class FilledSlots:
    """All slots of a prompt, filled with what of the candidates was fitted into them, and their budgets, by name."""

    slots: list[FilledSlot]
    candidates: Candidates
    fitted: Mapping[str, Fitted[Entry]]
    budgets: Mapping[str, int]


def fill(plan: SlotPlan, candidates: Candidates) -> FilledSlots:
    """Fill the slots that are switched on. What is related to the turn comes last: it repeats none of the others."""
    entries = {name: items if plan.slots[name].enabled else [] for name, items in candidates.entries.items()}
    budgets = plan.budgets_for(entries)
    related = entries.pop(TRIGGERED.name, candidates.related if plan.slots[TRIGGERED.name].enabled else [])
    by_name: dict[str, FilledSlot] = {}
    if candidates.text is None:
        fitted = fit_in_order(plan, entries, budgets)
        fitted[TRIGGERED.name] = fit_related(plan, fitted, related, budgets[TRIGGERED.name])
    else:
        fitted = fit_in_order(plan, entries, budgets, candidates.text.splitlines())
        by_name = {item.slot.name: item for item in _slots_of_text(plan, candidates.text, budgets)}
    by_name |= {name: filled_slot(plan.slots[name], items, budgets[name]) for name, items in fitted.items()}
    return FilledSlots([by_name[slot.name] for slot in SLOTS], candidates, fitted, budgets)


def fill_for_recall(turn: UserTurn, plan: SlotPlan, candidates: Candidates) -> tuple[FilledSlots, Recall]:
    """Fill the slots with what was found for a turn. Return also its recall, which isn't stored.

    That has what stands in the slots whose entries are looked up for each turn.
    """
    filled = fill(plan, candidates)
    fitted = filled.fitted
    text = join_blocks(fitted[slot.name].text for slot in RECALLED)
    kept = [(entry, slot.name) for slot in RECALLED for entry in fitted[slot.name].kept]
    # Triggered ones first, then by score.
    kept.sort(key=lambda pair: (not pair[0].triggered, -pair[0].score, str(pair[0].id)))
    ids = {entry.id for entry, _ in kept}  # what another slot has room for is not left out
    left_out = [
        {**entry.document(slot.name), "budget": filled.budgets[slot.name]}
        for slot in RECALLED
        for entry in sorted(fitted[slot.name].left_out, key=lambda entry: -entry.priority)
        if entry.id not in ids
    ]
    recall = Recall(
        owner_id=turn.owner_id,
        chat=turn.chat,
        message=turn.message,
        text=text,
        memories=[entry.document(name) for entry, name in kept],
        left_out=left_out[:MAX_LEFT_OUT],
        left_out_count=len(left_out),
        tokens=plan.count(text),
        turn_hash=turn.hash,
    )
    return filled, recall


def filled_slot(slot: Slot, fitted: Fitted[Entry], budget: int) -> FilledSlot:
    """Return a slot with the entries that were fitted into it."""
    return FilledSlot(
        slot, fitted.text, fitted.tokens, fitted.full_tokens, fitted.trimmed, budget, tuple(fitted.left_out)
    )


def _slots_of_text(plan: SlotPlan, text: str, budgets: Mapping[str, int]) -> list[FilledSlot]:
    """Return the slots of a recall, filled with the blocks of a text that a person edited and that is used whole."""
    blocks = blocks_of_text(plan.slots, plan.names, text)
    slots = []
    for slot in RECALLED:
        block = blocks.get(slot.name, "") if plan.slots[slot.name].enabled else ""
        tokens = plan.count(block)
        budget = budgets[slot.name]
        slots.append(FilledSlot(plan.slots[slot.name], block, tokens, tokens, 0, budget, edited=bool(block)))
    return slots


def fit_in_order(
    plan: SlotPlan, entries: Mapping[str, Sequence[Entry]], budgets: Mapping[str, int], lines: Collection[str] = ()
) -> dict[str, Fitted[Entry]]:
    """Fit the entries into their slots. Leave out those that an earlier slot, or one of ``lines``, says already.

    Slots that the turn does not change come first, so that they don't change for what others say.
    """
    seen = {_compared(line) for line in lines}
    fitted: dict[str, Fitted[Entry]] = {}
    kept: list[Entry] = []
    for name in sorted(entries, key=_SLOT_NAMES.index):
        items = _unrepeated(plan.not_held_back(name, entries[name]), seen)
        if name == SESSION.name:
            items = _without_repetitions(items, kept)
        fitted[name] = _fit(plan, name, items, budgets[name])
        seen |= {_compared(entry.line) for entry in fitted[name].kept}
        kept += fitted[name].kept if name == LONG_TERM.name else []
    return fitted


def fit_related(
    plan: SlotPlan, others: Mapping[str, Fitted[Entry]], entries: Sequence[Entry], budget: int
) -> Fitted[Entry]:
    """Fit what is related to the turn, without what other slots say already.

    Leave out passages of messages that stand in the prompt's history anyway.
    """
    memories = (items for name, items in others.items() if name in (LONG_TERM.name, SESSION.name))
    remembered = [entry for items in memories for entry in items.kept]
    lines = {_compared(entry.line) for items in others.values() for entry in items.kept}
    entries = _unrepeated(_without_repetitions(entries, remembered), lines)
    tokens = sum(items.tokens for items in others.values())
    while True:
        fitted = _fit(plan, TRIGGERED.name, entries, budget)
        shown = plan.shown(tokens + fitted.tokens) if plan.shown else ()
        if not any(entry.id in shown for entry in fitted.kept):
            return fitted
        # What is left out here makes room for a longer history.
        entries = [entry for entry in entries if entry.id not in shown]


def _fit(plan: SlotPlan, name: str, entries: Sequence[Entry], budget: int) -> Fitted[Entry]:
    """Return the entries of a slot that fit into its budget."""
    return fit(entries, budget, partial(render_block, plan.slots[name], names=plan.names), plan.count)


def fit(items: Sequence[Item], budget: int, render: RenderFunction, count: CountFunction) -> Fitted[Item]:
    """Return the items of highest priority whose rendered text has at most ``budget`` tokens.

    Try the items by priority and keep each one that still fits: a short item of low priority may fit after a longer
    one did not. Try items of equal priority in the given order.
    """
    full = render([item.written for item in items])
    full_tokens = count(full)
    if full_tokens <= budget:
        return Fitted(list(items), full, full_tokens, full_tokens, [])
    kept: list[int] = []
    left_out: list[int] = []
    text, tokens = "", 0
    waiting = sorted(range(len(items)), key=lambda i: -items[i].priority)
    while waiting:
        left_out = []
        for position in waiting:
            positions = sorted([*kept, position])
            # The whole text is counted each time: the token counts of lines don't add up to that of their text.
            candidate = render([items[i].written for i in positions])
            candidate_tokens = count(candidate)
            if candidate_tokens <= budget:
                kept, text, tokens = positions, candidate, candidate_tokens
            else:
                left_out.append(position)
        # What did not fit before may fit between lines that were kept later, since tokens span lines.
        waiting = left_out if len(left_out) < len(waiting) else []
    return Fitted([items[i] for i in kept], text, tokens, full_tokens, [items[i] for i in sorted(left_out)])


def _unrepeated(entries: Iterable[Entry], seen: Collection[str]) -> list[Entry]:
    """Return the entries whose text is not in ``seen``, each text once."""
    first: dict[str, Entry] = {}
    for entry in entries:
        if _compared(entry.line) not in seen:
            first.setdefault(_compared(entry.line), entry)
    return list(first.values())


def _compared(line: str) -> str:
    return one_line(line).removeprefix("- ").casefold()


def _without_repetitions(entries: Sequence[Entry], kept: Sequence[Entry]) -> list[Entry]:
    """Return the entries that don't repeat any of ``kept``, which are in other slots."""
    others = [words_of(entry.line) for entry in kept]

    def is_repeated(entry: Entry) -> bool:
        share, words = QUOTED_SHARE if entry.tier == MESSAGES_TIER else 1.0, words_of(entry.line)
        return any(is_covered(words, other, share) for other in others)

    return [entry for entry in entries if not is_repeated(entry)]


def words_of(text: str) -> set[str]:
    """Return the words of a line, without case."""
    return set(_WORD.findall(text.casefold()))


def is_covered(words: set[str], others: set[str], share: float = 1.0) -> bool:
    """Return True if at least a share of the words of a line also occur in another.

    Two memories that have most words in common may differ in the one that matters, so of a memory all have to.
    """
    return bool(words) and len(words & others) >= share * len(words)
