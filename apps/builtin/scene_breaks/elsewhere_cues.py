"""Cues that the story looks elsewhere: "meanwhile", "across town", "back at the castle", "in the tavern, …". Pure."""

import re
from collections.abc import Collection, Iterator

from apps.builtin.scene_breaks.cue import CLEAR, EXPLICIT, LIKELY, Cue, word_pattern
from apps.builtin.scene_breaks.places import place_at
from apps.builtin.scene_breaks.readings import after_veto

SHOWN = 40  # characters of a sentence that are given as the reason

_AWAY = word_pattern(
    r"""elsewhere|far to the (?:north|south|east|west)|far(?:ther)? away(?! from)|far from (?:there|here)
    |(?:\w+ ){0,3}(?:miles|leagues|streets|blocks|floors|light-years|worlds|parsecs|kilometres|kilometers)
    + (?:away|off|below|above|north|south|east|west|down|inland|out to sea|(?:down|up)(?:river|stream|wind|hill))
    |(?:on|in) (?:the (?:other|far) side|another (?:part|corner|wing|city|town|country|world|time))
    |half(?:way)? (?:a world away|across)|in a different (?:part|city|town|country|world|time)
    |across (?:the )?(?:town|city|sea|ocean|world|galaxy|street|river|valley|border|country|continent|kingdom|bay
    |village)"""
)
_BACK = word_pattern(
    r"""back (?:(?:in|at|on|inside|aboard) (?:(?:the|his|her|their|my|our|\w+'s) (?:\w+ ){0,2}\w+|[A-Z]\w+)
    |upstairs|downstairs|outside|inside|home|below|on deck|underground)(?=,| (?:he|she|they|we|i|you|the)\b| [A-Z])"""
)
_SOMEWHERE = re.compile(
    r"(?:somewhere|deep|high|outside|down|over|out|up) (?:outside|past|over|between|beyond|(?:north|south|east|west) of"
    r"|along|near|in|at|on|above|off|under|inside|within|beneath|below) ",
    re.IGNORECASE,
)
_INSIDE = re.compile(r"(?:at|in|inside|aboard) (?=(?:the|an?|his|her|their|my|our)\b|[A-Z])", re.IGNORECASE)
_FRAMES = re.compile(r"(?P<name>(?:[A-Z][\w'-]+ ){1,3})(?:it|there|the|he|she|they|we|i|you|every\w+|no ?\w+)\b")
_MEANWHILE = re.compile(
    r"(?:and |but )?(?:meanwhile|at (?:that|the) (?:very |same |exact )*(?:moment|time|hour))\b[,.:]?\s*", re.IGNORECASE
)
_THERE = re.compile(r"\b(?:in|at|on|inside|across|beneath|under|outside|aboard|over) (?=\S)", re.IGNORECASE)
_GOING_ON = re.compile(r"(?:he|she|they|i|we|you|it|his|her|their|my|our|your)\b", re.IGNORECASE)


def elsewhere_cues(text: str, people: Collection[str]) -> Iterator[Cue]:
    """The cues at the start of a narrated sentence; ``people`` are those who are there already."""
    meanwhile = _MEANWHILE.match(text)
    rest = text[meanwhile.end() :] if meanwhile else text
    if after_veto(rest):
        return
    if _AWAY.match(rest):
        yield Cue(EXPLICIT, rest[:SHOWN], explicit=True)
    elif (meanwhile and _leaves(rest, people)) or _BACK.match(rest):
        yield Cue(CLEAR, text[:SHOWN], explicit=True)
    for weight, pattern in ((CLEAR, _SOMEWHERE), (LIKELY, _INSIDE)):
        match = pattern.match(rest)
        named = _FRAMES.match(rest, match.end()) if match else None
        place = place_at(named["name"] if named else rest[match.end() :], people) if match else ""
        if match and place and (weight > LIKELY or named or "," in rest[match.end() : match.end() + SHOWN]):
            yield Cue(weight, match[0] + place, explicit=weight > LIKELY, place=place)


def _leaves(rest: str, people: Collection[str]) -> bool:
    """Whether what goes on meanwhile is elsewhere: in a place, or done by somebody who is not here."""
    if any(place_at(rest[match.end() :], people) for match in _THERE.finditer(rest)):
        return True
    here = {part for person in people for part in person.split()}
    return bool(rest) and not _GOING_ON.match(rest) and not here & set(re.findall(r"[\w'-]+", rest[:60]))
