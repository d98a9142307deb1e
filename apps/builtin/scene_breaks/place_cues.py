"""Cues that the story gets to another place: an arrival, a journey, a walk that is not across a room. Pure."""

import re
from collections.abc import Collection, Iterator

from apps.builtin.scene_breaks.cue import CLEAR, EXPLICIT, LIKELY, Cue
from apps.builtin.scene_breaks.movement_words import ARRIVES, HOME, ROADS, TO, TRAVELS, WALKS, WAY
from apps.builtin.scene_breaks.places import NEAR, place_at
from apps.builtin.scene_breaks.readings import after_veto, before_veto, tells_of_the_past

_MOVES = (
    (EXPLICIT, re.compile(rf"(?<![\w'-])(?:{ARRIVES}) (?=\S)", re.IGNORECASE)),
    (CLEAR, re.compile(rf"(?<![\w'-])(?:{TRAVELS}){WAY} {TO} (?=\S)", re.IGNORECASE)),
    (LIKELY, re.compile(rf"(?<![\w'-])(?:{WALKS}){WAY} {TO} (?=\S)", re.IGNORECASE)),
)
_RIDES = re.compile(r"rid|rode|driv|drove|sail|fl|travel|journey|cycl|set", re.IGNORECASE)
_THROUGH = re.compile(r"^(?:the |a )?(?:front |back )?doors? of (?=my|his|her|our|their)", re.IGNORECASE)
_HOME = re.compile(
    rf"(?<![\w'-])(?:{TRAVELS}|{WALKS}|arriv(?:es?|ed)|return(?:s|ed)?|gets?|got|comes?|came"
    rf"|ma[kd]es? it){WAY} {HOME}\b",
    re.IGNORECASE,
)
_CAMP = re.compile(
    r"\b(?:(?:ma[kd]es?|set(?:s)? up|pitch(?:es|ed)?|str(?:ikes?|uck)|br(?:eaks?|oke)) (?:a |our |their |the )?camp"
    r"|ma[kd]es? landfall|settl(?:es?|ed) (?:in|down) for the night|f(?:ind|inds|ound) \w+sel(?:f"
    r"|ves) (?:alone )?(?:in|on|at) an? (?!hurry|mood|position|bind)|sight(?:s|ed)? land|(?:pull|roll)(?:s"
    r"|ed)? up (?:outside|in front of|to the kerb|to the curb))\b",
    re.IGNORECASE,
)
_SIGHT = re.compile(
    r"(?:^|, |when |before )(?:the )?(?P<place>[\w' -]{3,60}?) (?:finally |at last |slowly )?(?:(?:comes?"
    r"|came) into (?:view|sight)"
    r"|(?:loom|rise|rose|appear)(?:s|ed)? (?:ahead|up ahead|out of|on the horizon|before|from the)|(?:swims?|swam) )",
    re.IGNORECASE,
)
_SOMEBODY = re.compile(
    r"(?:^|[,;] |\band |\bwhen |\bas )(?:an?|some|another|two|three|several|someone|somebody|more) [^,;❝]{0,40}$",
    re.IGNORECASE,
)
_NO_MOVER = re.compile(rf"\b{ROADS}(?: \w+ly)? $", re.IGNORECASE)
_NOT_NOW = re.compile(
    r"(?:\bto|\bof|\bfor|\bfrom|\bwas|\bwere|\bis|\bare|\bam|\bbeen|\bbefore|\bstarts?|\bstarted|\bbegan"
    r"|\bbegins) (?:\w+ly )?$",
    re.IGNORECASE,
)
_RETURNS = re.compile(
    r"\b(?:and|then|came|comes|walk(?:s|ed)) back\b(?! (?:at|in|home))|\band return(?:s|ed)\b", re.IGNORECASE
)
_UPON = re.compile(r"^(?:up)?on |^after |^once |^when |^as |^having ", re.IGNORECASE)


def place_cues(text: str, people: Collection[str]) -> Iterator[Cue]:
    """The cues of place in a narrated sentence. ``people`` are names of which none is taken for a place's."""
    if tells_of_the_past(text):
        return
    for weight, pattern in _MOVES:
        for match in pattern.finditer(text):
            place = place_at(_THROUGH.sub("", text[match.end() :]), people)
            near = place in NEAR and weight < EXPLICIT and not _RIDES.match(match[0])
            if place and not near and _happens(text, match.start(), match.end()):
                yield Cue(weight, match[0] + place, place=place)
    for match in _HOME.finditer(text):
        if _happens(text, match.start(), match.end()):
            yield Cue(CLEAR, match[0], place="home")
    yield from _seen(text, people)


def _seen(text: str, people: Collection[str]) -> Iterator[Cue]:
    camp, sight = _CAMP.search(text), _SIGHT.search(text)
    if camp and _happens(text, camp.start(), camp.end()):
        yield Cue(CLEAR, camp[0], place="camp")
    place = place_at(sight["place"], people) if sight else ""
    if sight and place and _happens(text, sight.start(), sight.end()):
        yield Cue(CLEAR, sight[0], place=place)


def _happens(text: str, start: int, end: int) -> bool:
    """Whether somebody of the story moves, now and not in a plan, a habit or a memory."""
    before = _UPON.sub("", text[:start])
    return not (
        before_veto(before)
        or _NOT_NOW.search(before)
        or _SOMEBODY.search(before)
        or _NO_MOVER.search(before)
        or after_veto(text[end:])
        or _RETURNS.search(text, end)
    )
