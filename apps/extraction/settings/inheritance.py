"""Find the value of each setting, its origin, and the value it would inherit. Without database access."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from apps.extraction.settings.schema import SETTINGS, defaults, resolve

_DEFAULTS = {"A": _("default for small models"), "B": _("default for large models")}


@dataclass(frozen=True)
class Source:
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


def setting_values(detected: str, sources: Sequence[Source]) -> dict[str, SettingValue]:
    """Return the value of each setting in the last of ``sources``, for a backend of the profile ``detected``."""
    profile = resolve(detected, [source.document for source in sources]).profile
    default, other = defaults(profile), defaults("A" if profile == "B" else "B")
    values = {}
    for name in SETTINGS:
        fallback = getattr(default, name)
        is_common = fallback == getattr(other, name)
        origin = gettext("default") if is_common else str(_DEFAULTS[profile])
        values[name] = setting_value(name, fallback, origin, sources)
    return values


def setting_value(name: str, default: Any, origin: str, sources: Sequence[Source]) -> SettingValue:
    """Return the value of a setting in the last of ``sources``; ``origin`` is that of the default."""
    *general, own = sources
    inherited = default
    for source in general:
        if name in source.document:
            inherited, origin = source.document[name], source.name
    is_own = name in own.document
    return SettingValue(
        value=own.document[name] if is_own else inherited,
        origin=own.name if is_own else origin,
        is_own=is_own,
        inherited=inherited,
    )
