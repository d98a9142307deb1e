"""A cue: words of a narrated sentence that may take the story to another scene. Pure."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace

# How much a cue tells by itself; a scene begins at ENOUGH.
EXPLICIT, CLEAR, LIKELY, FAINT = 1.0, 0.8, 0.6, 0.35
ENOUGH = 0.53


@dataclass(frozen=True)
class Cue:
    """``explicit`` cues begin a scene even right after another one began; ``place`` is where the story gets to."""

    weight: float
    words: str
    explicit: bool = False
    place: str = ""
    kind: str = ""

    def of(self, kind: str) -> "Cue":
        return replace(self, kind=kind)

    def scaled(self, share: float, raised: float) -> "Cue":
        return replace(self, weight=min(self.weight * share + raised, 1.0))


def compiled(rows: Mapping[float, str]) -> list[tuple[float, re.Pattern[str]]]:
    """The patterns of each weight, one a line, as whole words in any case. A line that begins with ``|`` or ``+`` goes
    on with the one before, as another alternative or with what follows its last one."""
    return [(weight, word_pattern(line)) for weight, lines in rows.items() for line in _joined(lines).splitlines()]


def word_pattern(lines: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w'-])(?:{_joined(lines)})(?![\w-])", re.IGNORECASE)


def _joined(lines: str) -> str:
    return re.sub(r"\n\s*", "\n", re.sub(r"\n\s*(?=\|)|\n\s*\+", "", lines.strip()))
