"""The tiers by name, in the order in which they read a window."""

from collections.abc import Collection, Iterator
from importlib import import_module

from apps.extraction.settings.schema import tier_names
from apps.extraction.tier import Form, Tier

TIERS: dict[str, Tier] = {name: import_module(f"apps.extraction.tiers.{name}").TIER for name in tier_names()}


def tiers_with_forms(names: Collection[str] | None = None) -> list[Tier]:
    """Return the tiers, all or those with the ``names``, that the one call reads for, in the order of its forms."""
    found = [tier for name, tier in TIERS.items() if tier.forms and (names is None or name in names)]
    return sorted(found, key=lambda tier: tier.comes_last)


def forms_of(tiers: list[Tier], *, is_group: bool = True) -> list[Form]:
    """Return the forms of lines of some tiers, those for groups only if ``is_group``."""
    return [form for tier in tiers for form in tier.forms if is_group or not form.only_in_groups]


def forms_with_lines() -> Iterator[Form]:
    """Yield all forms that have lines of their own."""
    return (form for form in forms_of(tiers_with_forms()) if form.part == 1)
