"""Form of the injection settings: general ones, and those of each slot, with what its budget cut from a prompt."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.common.pages.settings_index import IndexedSetting
from apps.common.settings.inheritance import SettingValue
from apps.common.settings.setting_forms import GroupRows, SettingsForm
from apps.common.words import Words
from apps.memories.labels import KIND_LABELS
from apps.memories.models import Memory
from apps.prompts.filling.budgets import CONTEXT_RULE, SHARE_RULE, TUNING_RULE, TURN_RULE, BudgetStep
from apps.prompts.filling.statistics import SlotHistory
from apps.prompts.settings.schema import GENERAL, IN_GENERAL, SELDOM, SETTINGS, SLOT_FIELDS, SLOT_GROUPS
from apps.prompts.slots.definitions import ALL_SLOTS, Slot
from apps.prompts.slots.entries import MESSAGES_TIER, Entry, FilledSlot

SLIDER_END = 2000  # tokens that each slider reaches at least
REASONS = {
    "": _("This is the budget set here."),
    SHARE_RULE: _("This is its share of the total."),
    TUNING_RULE: _("It was tuned to what the chat has needed."),
    TURN_RULE: _("The kind of turn gives it less than is set here, and others more."),
    CONTEXT_RULE: _("All blocks together get no more than half of the model’s context, or the room of the one block."),
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
        return CONTEXT_RULE
    return rules[-1] if rules else ""


@dataclass(frozen=True)
class SlotRows(GroupRows):
    """A slot with its fields, and what it has in the chat's next prompt and lost, if that is known.

    ``history`` is of all chats to which the settings apply.
    """

    slot: Slot
    filled: FilledSlot | None
    trimming: Trimming | None = None
    history: SlotHistory | None = None

    @property
    def budget_name(self) -> str:
        """Return the name of the setting beside which the trimming is shown."""
        return f"{self.slot.name}_budget"


class InjectionSettingsForm(SettingsForm):
    """Form with a field for every injection setting."""

    settings = SETTINGS

    def __init__(self, values: Mapping[str, SettingValue], data: Any = None) -> None:
        super().__init__(values, data)
        self._add_slider("total_budget", SETTINGS["total_budget"].label)
        for slot in ALL_SLOTS:
            self._add_slider(f"{slot.name}_budget", gettext("Tokens of %(label)s") % {"label": slot.label})

    def general(self) -> GroupRows:
        return self.group(IN_GENERAL)

    def seldom(self) -> GroupRows:
        """Return the settings in general that few people need."""
        return self.group(SELDOM)

    def slots(
        self,
        filled: Mapping[str, FilledSlot],
        trimmings: Mapping[str, Trimming] | None = None,
        histories: Mapping[str, SlotHistory] | None = None,
    ) -> Iterator[SlotRows]:
        """Yield the slots in the order of the prompt."""
        for slot in ALL_SLOTS:
            group = self.group(SLOT_GROUPS[slot.name])
            trimming, history = (trimmings or {}).get(slot.name), (histories or {}).get(slot.name)
            yield SlotRows(group.group, group.rows, slot, filled.get(slot.name), trimming, history)

    def _add_slider(self, name: str, label: Words) -> None:
        """Show a slider beside a budget. It ends at twice the default, but not below SLIDER_END."""
        end = max(2 * SETTINGS[name].default, SLIDER_END)
        self.fields[name].widget.attrs |= {"data-slider": end, "data-slider-label": label}


def prompt_settings() -> Iterator[IndexedSetting]:
    """Yield each setting of the prompt with the place of its field on the user's page."""
    url = reverse("prompts:settings")
    page = gettext("Memory in the prompt")
    for name, setting in GENERAL.items():
        yield IndexedSetting(setting.label, setting.help, page, f"{url}#id_{name}")
    for slot in ALL_SLOTS:
        fields = ", ".join(str(SETTINGS[f"{slot.name}_{field}"].label) for field in SLOT_FIELDS)
        about = f"{SLOT_GROUPS[slot.name].about} {fields}"
        yield IndexedSetting(slot.label, about, page, f"{url}#id_{slot.name}_budget")
