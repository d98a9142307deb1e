"""Slots filled with text, from a fresh recall or from a stored one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from apps.chats.macros import resolve_macros
from apps.injection.retrieval.entries import Entry
from apps.injection.slots.blocks import split_blocks
from apps.injection.slots.budgets import FittedItems, fit
from apps.injection.slots.definitions import RECALLED, SLOTS, TRIGGERED, Slot
from apps.injection.slots.plan import Plan


@dataclass(frozen=True)
class FilledSlot:
    """A slot with its text in the prompt.

    ``tokens`` is the number of tokens of the text, ``full_tokens`` that of all entries, ``trimmed`` the number of
    entries left out, ``budget`` the maximum number of tokens. ``left_out`` are the entries left out, unless they are
    lines of a stored text.
    """

    slot: Slot
    text: str
    tokens: int
    full_tokens: int
    trimmed: int
    budget: int
    left_out: Sequence[Entry] = ()


@dataclass(frozen=True)
class StoredLine:
    """A line of a stored recall. Earlier lines have a higher priority."""

    line: str
    priority: float


def slots_of_entries(
    plan: Plan, fitted: Mapping[str, FittedItems[Entry]], budgets: Mapping[str, int]
) -> list[FilledSlot]:
    """Return all slots, filled with ``fitted``, the entries by slot name."""
    return [slot_of_entries(plan.slots[slot.name], fitted[slot.name], budgets[slot.name]) for slot in SLOTS]


def slot_of_entries(slot: Slot, fitted: FittedItems[Entry], budget: int) -> FilledSlot:
    """Return a slot filled with entries."""
    return replace(_filled_slot(slot, fitted, budget), left_out=tuple(fitted.left_out))


def slots_of_text(plan: Plan, text: str, budgets: Mapping[str, int], *, whole: bool) -> list[FilledSlot]:
    """Return the slots of a recall, filled with the blocks of a stored text.

    Drop the last lines of a block above its budget, unless the text is to be used ``whole``: then its budget grows.
    """
    headings = {slot.name: resolve_macros(plan.slots[slot.name].heading, plan.names) for slot in RECALLED}
    blocks = split_blocks(text, headings, TRIGGERED.name)
    slots = []
    for slot in RECALLED:
        block = blocks.get(slot.name, "") if plan.slots[slot.name].enabled else ""
        budget = max(budgets[slot.name], plan.count(block)) if whole else budgets[slot.name]
        lines = [StoredLine(line, -number) for number, line in enumerate(block.splitlines())]
        slots.append(_filled_slot(plan.slots[slot.name], fit(lines, budget, "\n".join, plan.count), budget))
    return slots


def _filled_slot(slot: Slot, fitted: FittedItems[Entry] | FittedItems[StoredLine], budget: int) -> FilledSlot:
    return FilledSlot(slot, fitted.text, fitted.tokens, fitted.full_tokens, fitted.trimmed, budget)
