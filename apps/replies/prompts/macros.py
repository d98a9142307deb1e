"""Macros in the texts of a card, such as ``{{char}}``."""

import re
from collections.abc import Mapping

MACRO = re.compile(r"\{\{\s*([a-z-]+)\s*\}\}", re.IGNORECASE)
LEGACY_NAMES = {"<user>": "{{user}}", "<bot>": "{{char}}", "<char>": "{{char}}"}  # cards of 2022
LEGACY = re.compile("|".join(LEGACY_NAMES), re.IGNORECASE)


def resolve(text: str, values: Mapping[str, str]) -> str:
    """Replace the macros that ``values`` names, in any case, in one pass.

    Macros in the values themselves and unknown ones stay as they are.
    """
    text = LEGACY.sub(lambda match: LEGACY_NAMES[match[0].lower()], text)
    return MACRO.sub(lambda match: values.get(match[1].lower(), match[0]), text)


def macros_in(text: str) -> set[str]:
    """Return the names of the macros in ``text``, in lower case."""
    return {name.lower() for name in MACRO.findall(text)}
