"""Say what the budget of a slot cut from a prompt, of which kinds, and which rule set that budget."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from apps.common.words import Words
from apps.memories.labels import KIND_LABELS
from apps.memories.models import Memory
from apps.prompts.settings.stores import BudgetStep
from apps.prompts.slots.entries import MESSAGES_TIER, Entry
from apps.prompts.slots.filled_slots import FilledSlot

CONTEXT = "context"  # the rule that fits all slots into the context, or into the one block
REASONS = {
    "": _("This is the budget set here."),
    "share": _("This is its share of the total."),
    "tuning": _("It was tuned to what the chat has needed."),
    "turn": _("The kind of turn gives it less than is set here, and others more."),
    CONTEXT: _("All blocks together get no more than half of the model’s context, or the room of the one block."),
}
TIER_LABELS = {**dict(Memory.Tier.choices), MESSAGES_TIER: _("Passage of the chat")}


@dataclass(frozen=True)
class Trimming:
    """What was cut from a slot: entries by their labels, tokens, and why the slot had no more of them."""

    entries: int
    tokens: int
    kinds: Sequence[tuple[Words, int]]
    budget: int
    reason: Words


def trimmings_of(slots: Iterable[FilledSlot], steps: Sequence[BudgetStep]) -> dict[str, Trimming]:
    """Return what was cut from each slot that has lost entries, by its name. ``steps`` end with the last rule."""
    return {
        filled.slot.name: Trimming(
            entries=filled.trimmed,
            tokens=max(filled.full_tokens - filled.tokens, 0),
            kinds=_kinds(filled.left_out),
            budget=filled.budget,
            reason=REASONS[_rule_of(filled, steps)],
        )
        for filled in slots
        if filled.trimmed
    }


def _kinds(entries: Iterable[Entry]) -> list[tuple[Words, int]]:
    """Return the labels of entries with their numbers, the most frequent first."""
    return Counter(
        KIND_LABELS.get(entry.kind) or TIER_LABELS.get(entry.tier) or entry.kind.capitalize() for entry in entries
    ).most_common()


def _rule_of(filled: FilledSlot, steps: Sequence[BudgetStep]) -> str:
    """Return the last rule that changed the budget of a slot."""
    name = filled.slot.name
    budgets: list[tuple[str, Mapping[str, int]]] = [(step.rule, step.budgets) for step in steps]
    known = [(rule, values[name]) for rule, values in budgets if name in values]
    rules = [rule for (rule, now), (_, before) in zip(known[1:], known, strict=False) if now != before]
    if known and filled.budget < known[-1][1]:
        return CONTEXT
    return rules[-1] if rules else ""
