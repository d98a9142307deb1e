"""Find the value of each setting, its origin, and the value it would inherit. Without database access."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.common.settings.declarations import Schema, Setting

_DEFAULTS = {"A": _("default for small models"), "B": _("default for large models")}


@dataclass(frozen=True)
class SettingsSource:
    """Stored settings of a user, a character or a chat, and the name of their origin on pages."""

    name: str
    document: Mapping[str, Any]


@dataclass(frozen=True)
class SettingValue:
    """Value of a setting, its origin, whether it was set in the last source, and the value it would inherit."""

    value: Any
    origin: str
    is_own: bool
    inherited: Any


def setting_values(settings: Schema, sources: Sequence[SettingsSource], profile: str = "A") -> dict[str, SettingValue]:
    """Return the value of each setting in the last of ``sources``, for models of a hardware profile."""
    return {name: _setting_value(setting, sources, profile) for name, setting in settings.items()}


def _setting_value(setting: Setting, sources: Sequence[SettingsSource], profile: str) -> SettingValue:
    *general, own = sources
    inherited = setting.default_for(profile)
    origin = gettext("default") if setting.large is None else str(_DEFAULTS[profile])
    for source in general:
        if setting.name in source.document:
            inherited, origin = source.document[setting.name], source.name
    is_own = setting.name in own.document
    return SettingValue(
        value=own.document[setting.name] if is_own else inherited,
        origin=own.name if is_own else origin,
        is_own=is_own,
        inherited=inherited,
    )
