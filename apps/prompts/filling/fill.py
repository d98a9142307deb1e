"""Plan the slots of a prompt, and fill them with what may stand in them, each within its budget.

The words for this, here and in what calls it: a ``SlotPlan`` has the slots and their budgets. The ``Candidates`` are
the entries that may stand in the slots. To fit is to take into one slot those of its candidates for which its budget
has room, which makes a ``Fitted``. To fill is to fit all slots of a prompt, of which each is then a ``FilledSlot``.
"""

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from apps.chats.languages import catalogue_of
from apps.chats.models import Character, Chat
from apps.chats.queries.replying import reply_token_counter
from apps.prompts.filling.budgets import BudgetStep, budget_steps, room_in_context, within_context
from apps.prompts.filling.fitting import CountFunction, Fitted, fit
from apps.prompts.filling.statistics import demands_of
from apps.prompts.settings.schema import PromptSettings
from apps.prompts.slots.blocks import blocks_of_text, one_line, render_block
from apps.prompts.slots.definitions import IN_PROMPT, LONG_TERM, RECALLED, SESSION, SLOTS, TRIGGERED, Slot, in_language
from apps.prompts.slots.entries import MESSAGES_TIER, Entry, FilledSlot, Holding

QUOTED_SHARE = 0.7  # share of a quoted message's words that a memory must have to stand for it
_SLOT_NAMES = [slot.name for slot in SLOTS]
_WORD = re.compile(r"\w+")
# The ids of the messages that stand in a prompt of which memory takes this number of tokens.
Shown = Callable[[int], Collection[UUID]]


@dataclass(frozen=True)
class SlotPlan:
    """Slots by name, their budgets in tokens, the placeholders of their templates, and the length of the context.

    ``context_tokens`` is None if a recall is made for later prompts, of which the context isn't known. ``holding`` is
    None if no block is held for several turns, ``shown`` is None if the history isn't known. ``steps`` tell which rules
    made the budgets.
    """

    slots: Mapping[str, Slot]
    budgets: Mapping[str, int]
    names: Mapping[str, str]
    count: CountFunction
    context_tokens: int | None = None
    holding: Holding | None = None
    shown: Shown | None = None
    steps: Sequence[BudgetStep] = ()

    def budgets_for(self, entries: Mapping[str, Sequence[Entry]]) -> dict[str, int]:
        """Return the budgets of a prompt with these entries. A slot that isn't named may take its whole budget."""
        if self.context_tokens is None:
            return dict(self.budgets)
        demands = {name: self.count(self.render(name, items)) for name, items in entries.items()}
        return within_context(self.budgets, {**self.budgets, **demands}, self.context_tokens)

    def surely_shown(self) -> Collection[UUID] | None:
        """Return the ids of the messages that stand in the prompt however much is remembered, if that is known."""
        if self.shown is None:
            return None
        most = sum(self.budgets.values())
        return self.shown(most if self.context_tokens is None else min(most, room_in_context(self.context_tokens)))

    def render(self, name: str, entries: Sequence[Entry]) -> str:
        """Return the text of a slot with these entries."""
        return render_block(self.slots[name], [entry.written for entry in entries], self.names)

    def fit(self, name: str, entries: Sequence[Entry], budget: int) -> Fitted[Entry]:
        """Return the entries of a slot that fit into its budget."""
        return fit(entries, budget, partial(render_block, self.slots[name], names=self.names), self.count)

    def not_held_back(self, name: str, entries: Sequence[Entry]) -> Sequence[Entry]:
        """Return the candidates that may go into a slot now: a block before the conversation may be held as it is."""
        if self.holding is None or name not in self.held_slots:
            return entries
        return self.holding.entries(name, entries)

    @property
    def held_slots(self) -> list[str]:
        return [name for name, slot in self.slots.items() if slot.position == IN_PROMPT]


def plan_for(
    chat: Chat,
    character: Character | None,
    turn_class: str,
    settings: PromptSettings,
    context_tokens: int | None = None,
    count: CountFunction | None = None,
) -> SlotPlan:
    """Return the plan of a prompt of the chat for a turn of this class. Without ``count`` the chat's model counts."""
    language = catalogue_of(chat)
    steps = budget_steps(settings, turn_class, demands_of(chat) if settings.auto_tune else {})
    return SlotPlan(
        slots={name: in_language(slot, language) for name, slot in settings.slots.items()},
        budgets=steps[-1].budgets,
        names=chat.names_for(character),
        count=count or reply_token_counter(chat),
        context_tokens=context_tokens,
        steps=steps,
    )


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
        fitted[name] = plan.fit(name, items, budgets[name])
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
        fitted = plan.fit(TRIGGERED.name, entries, budget)
        shown = plan.shown(tokens + fitted.tokens) if plan.shown else ()
        if not any(entry.id in shown for entry in fitted.kept):
            return fitted
        # What is left out here makes room for a longer history.
        entries = [entry for entry in entries if entry.id not in shown]


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
