"""Decorators of card version 3: lines at the beginning of an entry's content, such as `@@depth 4`.

A line with three signs is the fallback of the one before it, for programs that don't know that one.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from itertools import takewhile

_LINE = re.compile(r"(@@@?)([a-z_]+)(?:[ \t]+(.*))?", re.IGNORECASE)


def _is_number(value: str) -> bool:
    return value.isascii() and value.removeprefix("-").isdigit() and len(value) < 10


def _is_empty(value: str) -> bool:
    return not value


# The decorators that are followed, with what their values may be. All others are left out of the prompt.
_SUPPORTED: Mapping[str, Callable[[str], bool]] = {
    **dict.fromkeys(("activate", "dont_activate", "ignore_on_max_context"), _is_empty),
    **dict.fromkeys(("depth", "scan_depth", "activate_only_after", "activate_only_every"), _is_number),
    **dict.fromkeys(("additional_keys", "exclude_keys"), bool),
    "role": lambda value: value in ("assistant", "system", "user"),
    "position": lambda value: value in ("before_desc", "after_desc"),
}


@dataclass(frozen=True)
class DecoratedText:
    """A content without its decorators. `values` has those that are followed, each with its values, in order."""

    text: str
    values: dict[str, list[str]] = field(default_factory=dict)
    unsupported: tuple[str, ...] = ()

    def number(self, name: str) -> int | None:
        """Return the value of a decorator of a number, or None if the entry doesn't have it."""
        return int(self.values[name][-1]) if name in self.values else None

    def keys(self, name: str) -> list[list[str]]:
        """Return the keys that each use of a decorator lists."""
        return [[key for part in value.split(",") if (key := part.strip())] for value in self.values.get(name, [])]


def read_decorators(content: str) -> DecoratedText:
    """Divide the content of an entry into its decorators and its text."""
    if not content.lstrip().startswith("@@"):
        return DecoratedText(content)
    lines = content.split("\n")
    values: dict[str, list[str]] = {}
    unsupported: list[str] = []
    is_settled = True  # whether a fallback has nothing to stand for
    decorated = list(takewhile(lambda line: not line.strip() or _LINE.fullmatch(line.strip()), lines))
    for match in filter(None, (_LINE.fullmatch(line.strip()) for line in decorated)):
        is_fallback = match[1] == "@@@"
        if is_fallback and is_settled:
            continue
        name, value = match[2].lower(), (match[3] or "").strip()
        is_settled = name in _SUPPORTED and _SUPPORTED[name](value)
        if is_settled:
            values.setdefault(name, []).append(value)
        if is_settled and is_fallback:
            unsupported.pop()
        elif not is_settled and not is_fallback:
            unsupported.append(name)
    return DecoratedText("\n".join(lines[len(decorated) :]).strip("\n"), values, tuple(unsupported))
