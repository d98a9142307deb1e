"""What was said and told before a message, as far as it shows whether the message goes on from there. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from apps.builtin.scene_breaks.cue import FAINT
from apps.builtin.scene_breaks.narration import narrated, people_in
from apps.builtin.scene_breaks.partings import closing, leaves, parts
from apps.builtin.scene_breaks.turns import Turn

HEARD = 4  # messages that are looked through for places
_GOING = r"(?:to|at|for|into|towards?|until|till|before|reach|leaving|left|after|check|visit|find|see|search)"
_IN = r"\b(?:in|inside|at|of|around|across)"
_IN_THE = rf"{_IN} (?:the|an?|this|his|her|their|my|our|your)"


@dataclass(frozen=True)
class SoFar:
    """``said`` are the last messages as they stand, ``told`` is what they narrate, in lower case, and ``end`` how they
    end; ``people`` are those who are there."""

    said: str
    told: str
    end: str
    people: frozenset[str]

    @property
    def going(self) -> float:
        """What it adds to a cue of a new setting that somebody sets out, or that what was going on is over."""
        return FAINT if leaves(self.end) or parts(self.end) else 0

    def spoken_of(self, word: str) -> bool:
        """Whether somebody spoke of going there."""
        return bool(word) and bool(
            re.search(rf"\b{_GOING} (?:\w+ ){{0,3}}{re.escape(word)}\b", self.said, re.IGNORECASE)
        )

    def names(self, place: str) -> bool:
        """Whether the place was told of before: any mention of a room or a road, or somebody in a place of a name."""
        return (
            place in self.told
            if place.islower()
            else bool(re.search(rf"{_IN} {re.escape(place.lower())}\b", self.told))
        )

    def is_there(self, place: str) -> bool:
        """Whether the story was at that place before."""
        return bool(re.search(rf"{_IN_THE} (?:\w+ )?{re.escape(place.lower())}\b", self.told))


@lru_cache(maxsize=2 * HEARD)
def _told(turn: Turn) -> str:
    return " ".join(sentence.text for sentence in narrated(turn)).lower()


def so_far(previous: Sequence[Turn], turn: Turn) -> SoFar:
    last = previous[-HEARD:]
    return SoFar(
        said="\n".join(one.text for one in last),
        told=" ".join(map(_told, last)),
        end=closing(previous),
        people=frozenset({one.name for one in (*previous, turn)} | people_in(one.text for one in (*previous, turn))),
    )
