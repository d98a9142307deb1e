"""Macros such as ``{{smartmemory-longterm}}``: find and replace them. Without database access."""

import re
from collections.abc import Iterable, Mapping

_MACRO = re.compile(r"\{\{\s*([A-Za-z][\w-]*)\s*\}\}", re.ASCII)


def resolve_macros(text: str, macros: Mapping[str, str]) -> str:
    """Replace the macros in ``text`` by their values, and leave unknown ones as they are.

    Macros are named in any case, and ``macros`` in lower case. Values are inserted as they are: macros in them are not
    replaced.
    """
    return _MACRO.sub(lambda match: macros.get(match[1].lower(), match[0]), text)


def macros_in(texts: Iterable[str]) -> set[str]:
    """Return the names of all macros in ``texts``, in lower case."""
    return {name.lower() for text in texts for name in _MACRO.findall(text)}
