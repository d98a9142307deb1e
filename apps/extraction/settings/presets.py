"""Presets of memory settings: a few words for how much is read and kept. Without database access."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext_lazy as _

from apps.common.settings.inheritance import SettingValue
from apps.common.words import Words
from apps.extraction.settings.schema import defaults


@dataclass(frozen=True)
class SettingsPreset:
    """Values of some settings. Those that it leaves out have the defaults of the hardware profile."""

    name: str
    label: Words
    about: Words
    values: Mapping[str, Any]


PRESETS = (
    SettingsPreset(
        "light",
        _("Light"),
        _("Reads seldom and keeps the essential. Takes the fewest calls of a model."),
        {
            "extract_every": 10,
            "new_per_kind": 2,
            "ledger": False,
            "epistemic": False,
            "profiles": False,
            "canon": False,
            "continuity": False,
            "scene_check": "rules",
            "model_triggers": False,
        },
    ),
    SettingsPreset("balanced", _("Balanced"), _("Suits most chats, and the model that you use."), {}),
    SettingsPreset(
        "thorough",
        _("Thorough"),
        _(
            "Keeps more, checks replies for contradictions, and writes a history of each "
            "character. Takes the most calls."
        ),
        {
            "extract_every": 3,
            "new_per_kind": 6,
            "ledger": True,
            "epistemic": True,
            "profiles": True,
            "canon": True,
            "continuity": True,
            "scene_check": "model",
            "model_triggers": True,
        },
    ),
)
# The settings that tell presets apart. All others may have any value in each of them.
COVERED = tuple(dict.fromkeys(name for preset in PRESETS for name in preset.values))


def preset_values(preset: SettingsPreset, profile: str) -> dict[str, Any]:
    """Return the values of the covered settings in a preset, for the hardware profile "A" or "B"."""
    default = defaults(profile)
    return {name: preset.values.get(name, getattr(default, name)) for name in COVERED}


def current_preset(values: Mapping[str, SettingValue], profile: str) -> str:
    """Return the name of the preset whose values apply, or an empty string if there is none."""
    present = {name: values[name].value for name in COVERED}
    return next((preset.name for preset in PRESETS if preset_values(preset, profile) == present), "")


def preset_changes(preset: SettingsPreset, values: Mapping[str, SettingValue], profile: str) -> dict[str, Any]:
    """Return the changes for ``change_settings`` that select a preset; what would be inherited anyway is reset."""
    wanted = preset_values(preset, profile)
    return {name: None if values[name].inherited == value else value for name, value in wanted.items()}
