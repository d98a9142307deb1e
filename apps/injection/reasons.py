"""Says in words why something was recalled: "names Mira · said 214 messages ago · similar .71"."""

import re
from collections.abc import Iterable, Mapping, Sequence

SIMILAR = 0.2  # cosine below which all-MiniLM-L6-v2's likeness is noise
NAMES_SHOWN = 3


def names_in(text: str, names: Iterable[str]) -> list[str]:
    """Those of ``names`` that occur in ``text`` as whole words, whatever their case; of several words, too."""
    folded = text.casefold()
    return [name for name in names if name and re.search(rf"(?<!\w){re.escape(name.casefold())}(?!\w)", folded)]


def why(*, names: Sequence[str], said: str, signals: Mapping[str, float], pinned: bool = False) -> str:
    """The reasons, the plainest first.

    ``said`` is when or where, such as "214 messages ago"; ``signals`` are those of the search, or empty.
    """
    parts = ["pinned"] if pinned else []
    if names:
        parts.append(f"names {_listed(names[:NAMES_SHOWN])}")
    if said:
        parts.append(f"said {said}")
    if signals.get("vector", 0) >= SIMILAR:
        parts.append(f"similar {_decimal(signals['vector'])}")
    elif signals.get("lexical", 0) > 0:
        parts.append("shares its words")
    return " · ".join(parts) or "kept in mind"


def _listed(names: Sequence[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def _decimal(value: float) -> str:
    """0.71 as ".71"."""
    return f"{min(value, 1.0):.2f}".removeprefix("0")
