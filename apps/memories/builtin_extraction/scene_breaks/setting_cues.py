"""Cues of a message that opens on another setting: the place or the event that was spoken of, or one that is new after
somebody left. Pure."""

import re
from collections.abc import Collection, Iterator

from apps.memories.builtin_extraction.scene_breaks.calendar_words import EVENT
from apps.memories.builtin_extraction.scene_breaks.cue import CLEAR, FAINT, LIKELY, Cue, word_pattern
from apps.memories.builtin_extraction.scene_breaks.frames import (
    backdrop_places,
    framing_place,
    resting_places,
    subject_places,
    told_of,
)
from apps.memories.builtin_extraction.scene_breaks.partings import VEHICLE, leaves, parts
from apps.memories.builtin_extraction.scene_breaks.places import place_at
from apps.memories.builtin_extraction.scene_breaks.readings import before_veto

OPENING = 60  # characters of a message's first sentence that set it

_AT = re.compile(r"\b(?:in|at|inside|aboard|outside|across|around|over) (?=\S)", re.IGNORECASE)
_FRAGMENT = re.compile(r"(?P<place>(?:[Tt]he )?[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,3})[.…]$")
_NOUN = re.compile(r"\b[a-z]{3,}\b")
_EVENT = word_pattern(
    rf"""(?:the |her |his |their |my |our )?(?:\w+ )?(?P<event>{EVENT}|festival|dance|picnic|date|reunion|coronation)
    + (?:is|was|were|are|had|has|began|begins|starts?|started|went|goes)"""
)
_GOING = r"(?:to|at|for|into|towards?|until|till|before|reach|leaving|left|after|check|visit|find|see|search)"
_GOT_THERE = word_pattern(
    r"""(?:when|by the time|once|as) (?:they|we|i|he|she|you|[A-Z]\w+)(?: both| all| finally)*
    + (?:arriv(?:es?|ed)|g[eo]ts? there|reach(?:es|ed)|pull(?:s|ed)? (?:in|up))
    |when it (?:finally |at last )?(?:c[ao]mes?|arriv(?:es?|ed)),"""
)
_RIDE = word_pattern(
    rf"""(?:the|our|their|my|his|her) (?:\w+ )?{VEHICLE} (?:\w+ly )?(?:drop(?:s|ped)? out|land(?:s|ed)|dock(?:s|ed)
    |touch(?:es|ed) down|pull(?:s|ed) (?:in|up|into|over)|roll(?:s|ed) (?:to a|into)|slow(?:s|ed)|stop(?:s|ped)
    |arriv(?:es|ed)|glid(?:es|ed) (?:in|to)|(?:shudder|lurch)(?:s|es|ed) to|c[ao]mes? to a (?:halt|stop))"""
)
_COMES_IN = word_pattern(
    r"""(?:kick|push|shut|clos|pull|lock|slam|nudg)(?:s|es|ed)? (?:the |his |her |my |our |their )(?:\w+ ){0,2}door
    + (?:shut |closed |to )?behind|unlock(?:s|ed)? the (?:\w+ )?door|fumbl(?:es|ed) (?:with|for) (?:the |her |his |my )keys
    |(?:drop|toss|hang|kick|shrug|throw|threw|hung)(?:s|es|ped|ed)? (?:off )?(?:the |her |his |my |their )(?:car |house )?
    +(?:keys|shoes|boots|coat|jacket|bags)(?: off)? (?:on|onto|by|in|into|over)"""
)
_OCCASION = re.compile(r"(?:the |her |his |their |my |our )?(?P<event>[\w'-]+(?: [\w'-]+){0,3})[.…]", re.IGNORECASE)
_IS_EVENT = word_pattern(rf"{EVENT}|festival|dance|picnic|date|reunion|coronation")
_IS_VEHICLE = re.compile(VEHICLE)
_TAKES = word_pattern(
    r"""it (?:takes|took) (?:\w+ ){0,7}(?:hours|days|nights|weeks|months|years
    |an? (?:hour|day|night|week|month|year))"""
)


def setting_cues(text: str, said: str, end: str, people: Collection[str]) -> Iterator[Cue]:
    """The cues in a message's first narrated sentence. ``said`` are the messages before as they stand, ``end`` is how
    they end."""
    going = FAINT if leaves(end) or parts(end) else 0
    if _TAKES.match(text):
        yield Cue(CLEAR, text[:OPENING], explicit=True)
    if _GOT_THERE.search(text) and not before_veto(text.split(" when ")[0]):
        yield Cue(CLEAR, text[:OPENING])
    if _RIDE.match(text) or _COMES_IN.search(text):
        yield Cue(FAINT + going, text[:OPENING])
    event = _EVENT.match(text)
    occasion = _OCCASION.fullmatch(text)
    if occasion and _IS_EVENT.search(text):
        yield Cue(LIKELY if occasion["event"].lower() in said.lower() else FAINT + going, text)
    if event and re.search(rf"\b{event['event']}\b", said, re.IGNORECASE):
        yield Cue(LIKELY, event[0], place=event["event"])
    for weight, place in (named for named in _places(text, said, going, people) if named[1]):
        yield Cue(weight, place, place=place)


def posture_cues(text: str, said: str, end: str, people: Collection[str]) -> Iterator[Cue]:
    """The cues of somebody who is in a place already that nobody spoke of, or that somebody was about to go to."""
    going = FAINT if leaves(end) or parts(end) else 0
    for place in filter(None, resting_places(text, people)):
        if place.lower() not in said.lower() or _spoken_of(place, said):
            yield Cue(FAINT + going, place, place=place, kind="posture")


def _places(text: str, said: str, going: float, people: Collection[str]) -> Iterator[tuple[float, str]]:
    """(weight, place) of the places that the opening of a sentence names. One of which nothing was heard yet opens a
    scene by itself where it is what the sentence tells of."""
    fragment = _FRAGMENT.match(text)
    if fragment:
        place = place_at(fragment["place"], people)
        yield (LIKELY if place.islower() or _spoken_of(place, said) else going), place
    for place in subject_places(text, people):
        told = place.islower() and not re.search(rf"\bthis (?:\w+ )?{re.escape(place)}\b", said, re.IGNORECASE)
        heard = place.islower() or (going and place in said)
        yield (LIKELY if told or _spoken_of(place, said) else FAINT + going if heard else 0), place
    relation, place = framing_place(text, people)
    told = relation == "below" or (relation == "within" and _IS_VEHICLE.fullmatch(place))
    yield (LIKELY if told else FAINT + going if relation else 0), place
    if going and _spoken_of(told_of(text), said):
        yield LIKELY, told_of(text)
    for place in backdrop_places(text, people):
        yield (LIKELY if _spoken_of(place, said) else FAINT) + going, place
    for match in _AT.finditer(text[:OPENING]):
        place = place_at(text[match.end() :], people)
        yield (LIKELY if _spoken_of(place, said) else FAINT) + going, place
    if going:
        yield from ((LIKELY, noun) for noun in _NOUN.findall(text[:OPENING]) if noun in said and place_at(noun, people))


def _spoken_of(word: str, said: str) -> bool:
    """Whether somebody spoke of going there."""
    return bool(word) and bool(re.search(rf"\b{_GOING} (?:\w+ ){{0,3}}{re.escape(word)}\b", said, re.IGNORECASE))
