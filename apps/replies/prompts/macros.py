"""Macros in the texts of a card, such as ``{{char}}``."""

import re
from collections.abc import Mapping

from apps.injection.slots.macros import resolve_macros

LEGACY_NAMES = {"<user>": "{{user}}", "<bot>": "{{char}}", "<char>": "{{char}}"}  # cards of 2022
LEGACY = re.compile("|".join(LEGACY_NAMES), re.IGNORECASE)


def resolve(text: str, values: Mapping[str, str]) -> str:
    """Replace the macros that ``values`` names, in any case, in one pass.

    Macros in the values themselves and unknown ones stay as they are.
    """
    text = LEGACY.sub(lambda match: LEGACY_NAMES[match[0].lower()], text)
    return resolve_macros(text, values)
