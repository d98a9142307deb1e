"""Macros such as ``{{char}}`` or ``{{smartmemory-longterm}}``: find and replace them. Without database access."""

import re
from collections.abc import Iterable, Mapping

_MACRO = re.compile(r"\{\{\s*([A-Za-z][\w-]*)\s*\}\}", re.ASCII)
LEGACY_NAMES = {"<user>": "{{user}}", "<bot>": "{{char}}", "<char>": "{{char}}"}  # cards of 2022
LEGACY = re.compile("|".join(LEGACY_NAMES), re.IGNORECASE)


def resolve_macros(text: str, macros: Mapping[str, str]) -> str:
    """Replace the macros in ``text`` by their values, and leave unknown ones as they are.

    Macros are named in any case, and ``macros`` in lower case. Values are inserted as they are: macros in them are not
    replaced.
    """
    return _MACRO.sub(lambda match: macros.get(match[1].lower(), match[0]), text)


def resolve_in_order(texts: Iterable[str], macros: Mapping[str, str]) -> list[str]:
    """Replace each macro by its value where it stands first in ``texts``, and by nothing where it stands again."""
    left = dict(macros)
    known = set(macros)

    def value(match: re.Match[str]) -> str:
        name = match[1].lower()
        return left.pop(name, "") if name in known else match[0]

    return [_MACRO.sub(value, text) for text in texts]


def resolve_card_text(text: str, values: Mapping[str, str]) -> str:
    """Replace the macros in a text of a card, also those of old cards, in one pass."""
    text = LEGACY.sub(lambda match: LEGACY_NAMES[match[0].lower()], text)
    return resolve_macros(text, values)


def macros_in(texts: Iterable[str]) -> set[str]:
    """Return the names of all macros in ``texts``, in lower case."""
    return {name.lower() for text in texts for name in _MACRO.findall(text)}
