"""Form of the injection settings: general ones, and those of each slot."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext

from apps.common.pages.settings_index import IndexedSetting
from apps.common.settings.inheritance import SettingValue
from apps.common.settings.setting_forms import GroupRows, SettingsForm
from apps.common.words import Words
from apps.prompts.settings.schema import GENERAL, IN_GENERAL, SELDOM, SETTINGS, SLOT_FIELDS, SLOT_GROUPS
from apps.prompts.settings.trimming import Trimming
from apps.prompts.slots.definitions import ALL_SLOTS, Slot
from apps.prompts.slots.filled_slots import FilledSlot
from apps.prompts.statistics import SlotHistory

SLIDER_END = 2000  # tokens that each slider reaches at least


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
