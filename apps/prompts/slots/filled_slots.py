"""Slots filled with text, from a fresh recall or from a stored one."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from apps.prompts.slots.blocks import heading_of, split_blocks
from apps.prompts.slots.budgets import FittedItems
from apps.prompts.slots.definitions import RECALLED, TRIGGERED, Slot, in_all_languages
from apps.prompts.slots.entries import Entry
from apps.prompts.slots.plan import Plan


@dataclass(frozen=True)
class FilledSlot:
    """A slot with its text in the prompt.

    ``tokens`` is the number of tokens of the text, ``full_tokens`` that of all entries, ``trimmed`` the number of
    entries left out, ``budget`` the maximum number of tokens. ``left_out`` are the entries left out. ``edited``: a
    person edited the text, which is used whole and may have more tokens than the budget.
    """

    slot: Slot
    text: str
    tokens: int
    full_tokens: int
    trimmed: int
    budget: int
    left_out: Sequence[Entry] = ()
    edited: bool = False

    @property
    def room(self) -> int:
        """Return the number of tokens that the text may take."""
        return max(self.budget, self.tokens) if self.edited else self.budget


def slot_of_entries(slot: Slot, fitted: FittedItems[Entry], budget: int) -> FilledSlot:
    """Return a slot filled with entries."""
    return FilledSlot(
        slot, fitted.text, fitted.tokens, fitted.full_tokens, fitted.trimmed, budget, tuple(fitted.left_out)
    )


def slots_of_text(plan: Plan, text: str, budgets: Mapping[str, int]) -> list[FilledSlot]:
    """Return the slots of a recall, filled with the blocks of a text that a person edited and that is used whole."""
    blocks = blocks_of_text(plan.slots, plan.names, text)
    slots = []
    for slot in RECALLED:
        block = blocks.get(slot.name, "") if plan.slots[slot.name].enabled else ""
        tokens = plan.count(block)
        budget = budgets[slot.name]
        slots.append(FilledSlot(plan.slots[slot.name], block, tokens, tokens, 0, budget, edited=bool(block)))
    return slots


def blocks_of_text(slots: Mapping[str, Slot], names: Mapping[str, str], text: str) -> dict[str, str]:
    """Return the blocks of a recall's text by slot name. What has no heading stands in a slot that is on, if any is."""
    headings = {
        heading_of(one, names): slot.name for slot in RECALLED for one in in_all_languages(slots[slot.name])
    }  # the chat may have been in another language when the text was made
    enabled = [slot.name for slot in (TRIGGERED, *RECALLED) if slots[slot.name].enabled]
    return split_blocks(text, headings, enabled[0] if enabled else TRIGGERED.name)


def unused_slots(slots: Mapping[str, Slot], names: Mapping[str, str], text: str) -> list[Slot]:
    """Return the slots for which a recall's text has a block, but which are switched off."""
    blocks = blocks_of_text(slots, names, text)
    return [slots[slot.name] for slot in RECALLED if blocks.get(slot.name) and not slots[slot.name].enabled]
