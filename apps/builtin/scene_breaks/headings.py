"""Lines that say by themselves that a scene begins or ends: "Chapter 3", "[Two days later]", "INT. KITCHEN". Pure."""

import re

from apps.builtin.scene_breaks.elsewhere_cues import elsewhere_cues
from apps.builtin.scene_breaks.layout import HEADING_WORDS, Block
from apps.builtin.scene_breaks.places import place_at
from apps.builtin.scene_breaks.time_cues import time_cues

_NUMBER = r"(?:\d+|[IVXLC]+|[A-Z](?!\w)|(?i:one|two|three|four|five|six|seven|eight|nine|ten|\w+teen|twenty))"
_DIVISION = re.compile(
    rf"(?:(?i:chapter|part|act|scene|episode|book|volume|day|night) (?i:the )?{_NUMBER}|(?i:prologue|epilogue"
    rf"|interlude|intermission)"
    rf"|(?i:new scene|scene break|scene change|time ?skip|next scene))\b(?:\s*[:.,–—-].{{0,80}})?[\W_]*"
)
_SLUG = re.compile(r"(?:INT|EXT|INT/EXT|I/E)\b[. ].+")
_PLACED = re.compile(
    r"(?:(?:meanwhile|later|now)\b\W*)?(?:(?:in|at|on|inside|outside|aboard|back at|back in) )?(?=\w)", re.IGNORECASE
)
_VERB = re.compile(
    r"\b(?:is|are|was|were|he|she|they|i|you|we|it)\b|\b\w+(?:ed|s) (?:to|at|the|her|his|my)\b", re.IGNORECASE
)
_END = re.compile(
    r"(?:fades? (?:in)?to (?:black|white|darkness)|(?:the )?(?:scene|chapter) (?:ends|fades|closes)"
    r"|end (?:of )?(?:scene|chapter)"
    r"|cut to black|the curtain falls|to be continued)\W*$",
    re.IGNORECASE,
)


def begins(block: Block) -> bool:
    """Whether a line stands for the beginning of a scene."""
    if block.kind == "title":
        return not block.text.upper().startswith("OOC")
    text = block.text.strip(" *_~#[](){}-–—=>📍🕒⏰:")
    if len(text.split()) > HEADING_WORDS or block.kind not in ("heading", "paragraph"):
        return False
    return bool(_DIVISION.fullmatch(text) or _SLUG.match(text)) or (block.kind == "heading" and _tells(text))


def _tells(text: str) -> bool:
    """Whether a heading names another time or another place, and does nothing else."""
    if any(time_cues(text)) or any(elsewhere_cues(text, ())):
        return True
    placed = _PLACED.match(text)
    return bool(placed and not _VERB.search(text) and place_at(text[placed.end() :], ()).islower())


def ends(sentence: str) -> bool:
    """Whether a sentence at the end of a message closes its scene."""
    return bool(_END.search(sentence))
