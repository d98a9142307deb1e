"""Form of the injection settings: general ones, and those of each slot."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django import forms
from django.urls import reverse
from django.utils.translation import gettext

from apps.common.pages.settings_index import IndexedSetting
from apps.common.words import Words
from apps.extraction.settings.forms import GroupRows, SettingsForm
from apps.extraction.settings.inheritance import SettingValue, Source, setting_value
from apps.prompts.settings.schema import GENERAL, SELDOM, SETTINGS, SIMPLE_SETTINGS, SLOT_ABOUT, SLOT_FIELDS
from apps.prompts.settings.trimming import Trimming
from apps.prompts.slots.definitions import ALL_SLOTS, Slot
from apps.prompts.slots.filled_slots import FilledSlot
from apps.prompts.statistics import SlotHistory

SLIDER_END = 2000  # tokens that each slider reaches at least

Row = tuple[forms.BoundField, SettingValue]


@dataclass(frozen=True)
class SlotRows:
    """A slot with its fields, and what it has in the chat's next prompt and lost, if that is known.

    ``history`` is of all chats to which the settings apply.
    """

    slot: Slot
    rows: list[Row]
    filled: FilledSlot | None
    trimming: Trimming | None = None
    history: SlotHistory | None = None

    @property
    def budget_name(self) -> str:
        """Return the name of the setting beside which the trimming is shown."""
        return f"{self.slot.name}_budget"

    @property
    def about(self) -> Words:
        """Return a sentence of what the slot holds."""
        return SLOT_ABOUT.get(self.slot.name, "")

    @property
    def own(self) -> int:
        """Return how many settings of the slot were set here."""
        return sum(setting.is_own for _, setting in self.rows)

    @property
    def is_open(self) -> bool:
        """Return whether the slot is shown unfolded: a setting of it was set here or has errors."""
        return any(setting.is_own or field.errors for field, setting in self.rows)


class InjectionSettingsForm(SettingsForm):
    """Form with a field for every injection setting."""

    types = {name: setting.kind for name, setting in SETTINGS.items()}
    metadata = {
        name: {"label": setting.label, "help": setting.help, **setting.limits} for name, setting in SETTINGS.items()
    }

    def __init__(self, values: Mapping[str, SettingValue], data: Any = None) -> None:
        super().__init__(values, data)
        self._add_slider("total_budget", SETTINGS["total_budget"].label)
        for slot in ALL_SLOTS:
            self._add_slider(f"{slot.name}_budget", gettext("Tokens of %(label)s") % {"label": slot.label})

    def general(self) -> list[Row]:
        return self._rows(SIMPLE_SETTINGS)

    def seldom(self) -> GroupRows:
        """Return the settings in general that few people need."""
        return GroupRows(SELDOM, self._rows(name for name in GENERAL if name not in SIMPLE_SETTINGS))

    def slots(
        self,
        filled: Mapping[str, FilledSlot],
        trimmings: Mapping[str, Trimming] | None = None,
        histories: Mapping[str, SlotHistory] | None = None,
    ) -> Iterator[SlotRows]:
        """Yield the slots in the order of the prompt."""
        for slot in ALL_SLOTS:
            rows = self._rows(f"{slot.name}_{field}" for field in SLOT_FIELDS)
            trimming, history = (trimmings or {}).get(slot.name), (histories or {}).get(slot.name)
            yield SlotRows(slot, rows, filled.get(slot.name), trimming, history)

    def _add_slider(self, name: str, label: Words) -> None:
        """Show a slider beside a budget. It ends at twice the default, but not below SLIDER_END."""
        end = max(2 * SETTINGS[name].default, SLIDER_END)
        self.fields[name].widget.attrs |= {"data-slider": end, "data-slider-label": label}

    def _rows(self, names: Iterable[str]) -> list[Row]:
        return [(self[name], self.values[name]) for name in names]


def prompt_settings() -> Iterator[IndexedSetting]:
    """Yield each setting of the prompt with the place of its field on the user's page."""
    url = reverse("prompts:settings")
    page = gettext("Memory in the prompt")
    for name, setting in GENERAL.items():
        yield IndexedSetting(setting.label, setting.help, page, f"{url}#id_{name}")
    for slot in ALL_SLOTS:
        fields = ", ".join(str(SETTINGS[f"{slot.name}_{field}"].label) for field in SLOT_FIELDS)
        about = f"{SLOT_ABOUT[slot.name]} {fields}"
        yield IndexedSetting(slot.label, about, page, f"{url}#id_{slot.name}_budget")


def injection_setting_values(sources: Sequence[Source]) -> dict[str, SettingValue]:
    """Return the value of each setting in the last of ``sources``."""
    return {
        name: setting_value(name, setting.default, gettext("default"), sources) for name, setting in SETTINGS.items()
    }
