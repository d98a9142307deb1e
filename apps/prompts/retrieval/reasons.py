"""Describe why an entry was recalled, for example as "names Mira · said 214 messages ago · similar .71"."""

import re
from collections.abc import Iterable, Mapping, Sequence

MIN_SIMILAR_COSINE = 0.2  # lower cosines of all-MiniLM-L6-v2 are noise
MAX_NAMES = 3


def names_in(text: str, names: Iterable[str]) -> list[str]:
    """Return those of ``names`` that occur in ``text`` as whole words, ignoring case."""
    folded = text.casefold()
    return [name for name in names if name and re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", folded)]


def reasons(
    *,
    names: Sequence[str],
    origin: str,
    signals: Mapping[str, float],
    pinned: bool = False,
    triggers: Sequence[str] = (),
) -> str:
    """Return the reasons as one text, the most obvious first.

    ``names`` are the names that the entry shares with the turn. ``origin`` is a time or chat, such as "214 messages
    ago", or empty. ``signals`` are the search's signals by name, or empty. ``triggers`` are the memory's trigger words
    in the turn; those that are in a name are left out.
    """
    parts = ["pinned"] if pinned else []
    if names:
        parts.append(f"names {_join_names(names[:MAX_NAMES])}")
    if others := [word for word in triggers if not names_in(" ".join(names), [word])]:
        parts.append(f"triggered by {_join_names(others[:MAX_NAMES])}")
    if origin:
        parts.append(f"said {origin}")
    if signals.get("vector", 0) >= MIN_SIMILAR_COSINE:
        similarity = f"{min(signals['vector'], 1.0):.2f}".removeprefix("0")  # ".71"
        parts.append(f"similar {similarity}")
    elif signals.get("lexical", 0) > 0:
        parts.append("shares its words")
    if signals.get("time", 0) > 0:
        parts.append("of the time asked for")
    return " · ".join(parts) or "always included"


def _join_names(names: Sequence[str]) -> str:
    """Return names as "A, B and C"."""
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"
