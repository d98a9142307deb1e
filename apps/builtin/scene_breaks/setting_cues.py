"""Cues of a message that opens on another setting: the place or the event that was spoken of, or one that is new after
somebody left. Pure."""

import re
from collections.abc import Iterator

from apps.builtin.scene_breaks.calendar_words import EVENT
from apps.builtin.scene_breaks.cue import CLEAR, FAINT, LIKELY, Cue, word_pattern
from apps.builtin.scene_breaks.frames import (
    backdrop_places,
    framing_place,
    from_here,
    left_place,
    resting_places,
    subject_places,
    told_of,
)
from apps.builtin.scene_breaks.partings import VEHICLE
from apps.builtin.scene_breaks.places import NEAR, place_at, setting_at
from apps.builtin.scene_breaks.readings import before_veto
from apps.builtin.scene_breaks.so_far import SoFar

OPENING = 60  # characters of a message's first sentence that set it

_AT = re.compile(r"\b(?:in|at|inside|aboard|outside|across|around|over) (?=\S)", re.IGNORECASE)
_FRAGMENT = re.compile(r"(?P<place>(?:[Tt]he )?[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,3})[.…]$")
_NOUN = re.compile(r"\b[a-z]{3,}\b")
_EVENT = word_pattern(
    rf"""(?:the |her |his |their |my |our )?(?:\w+ )?(?P<event>{EVENT}|festival|dance|picnic|date|reunion|coronation)
    + (?:is|was|were|are|had|has|began|begins|starts?|started|went|goes)"""
)
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
    + (?:shut |closed |to )?behind|unlock(?:s|ed)? the (?:\w+ )?door|fumbl(?:es|ed) (?:with|for) (?:the |her |his
    |my )keys
    |(?:drop|toss|hang|kick|shrug|throw|threw|hung)(?:s|es|ped|ed)? (?:off )?(?:the |her |his |my |their )(?:car
    |house )?
    +(?:keys|shoes|boots|coat|jacket|bags)(?: off)? (?:on|onto|by|in|into|over)"""
)
_RECEIVED = word_pattern(
    r"""(?:an?|the|his|her|their) [^,.❝]{3,40} (?:meets|met|greets|greeted|receives|received|ushers|ushered|leads|led
    |shows
    |showed|waves|waved|admits|admitted) (?:you|them|us|him|her|me)"""
)
_SHORT = re.compile(r"(?:the |her |his |their |my |our )?[\w'-]+(?: [\w'-]+){0,3}[.…]", re.IGNORECASE)
_CLAUSE = re.compile(
    r"(?:he|she|they|i|we|you|it|no|not)\b|.*\b(?:is|was|are|were|has|had|go(?:es)?|went|comes?|came|\w{2,}ed)\b",
    re.IGNORECASE,
)
_IS_EVENT = word_pattern(rf"{EVENT}|festival|dance|picnic|date|reunion|coronation")
_IS_VEHICLE = re.compile(VEHICLE)
_TAKES = word_pattern(
    r"""it (?:takes|took) (?:\w+ ){0,7}(?:hours|days|nights|weeks|months|years
    |an? (?:hour|day|night|week|month|year))"""
)


def setting_cues(text: str, past: SoFar) -> Iterator[Cue]:
    """The cues in a sentence that opens a message."""
    yield from _arrival(text, past)
    yield from _occasion(text, past)
    for weight, place in _places(text, past):
        if place and weight and not past.names(place):
            yield Cue(weight, place, place=place, kind="place")


def posture_cues(text: str, past: SoFar) -> Iterator[Cue]:
    """The cues of somebody who is in a place already that nobody spoke of, or that somebody was about to go to."""
    for place in filter(None, resting_places(text, past.people)):
        new = place not in NEAR and place.lower() not in past.said.lower()
        if (new or past.spoken_of(place)) and place.lower() not in past.told:
            yield Cue(FAINT + past.going, place, place=place, kind="posture")


def _arrival(text: str, past: SoFar) -> Iterator[Cue]:
    """Ways of getting somewhere that are told without the place."""
    words = text[:OPENING]
    if _TAKES.match(text):
        yield Cue(CLEAR, words, explicit=True, kind="place")
    if _GOT_THERE.search(text) and not before_veto(text.split(" when ")[0]):
        yield Cue(CLEAR, words, kind="place")
    if left_place(text, past.people) or framing_place(text, past.people)[0] == "below":
        yield Cue(LIKELY, words, kind="place")
    if _RIDE.match(text) or _COMES_IN.search(text) or _RECEIVED.match(text):
        yield Cue(FAINT + past.going, words, kind="place")


def _occasion(text: str, past: SoFar) -> Iterator[Cue]:
    """An event that goes on, and openings such as "The funeral." and "Deep space."."""
    if _SHORT.fullmatch(text) and not _CLAUSE.match(text) and text.split()[0] not in past.people:
        place = setting_at(text, past.people)
        if _IS_EVENT.search(text) or (place.islower() and not past.names(place)):
            yield Cue(LIKELY, text, kind="place")
    event = _EVENT.match(text)
    if event and not past.names(event["event"]):
        heard = re.search(rf"\b{event['event']}\b", past.said, re.IGNORECASE)
        yield Cue(LIKELY if heard else FAINT + past.going, event[0], kind="place" if heard else "event")


def _places(text: str, past: SoFar) -> Iterator[tuple[float, str]]:
    """(weight, place) of the places that a sentence names. One of which nothing was heard yet opens a scene by itself
    where it is what the sentence tells of."""
    going, people = past.going, past.people
    fragment = _FRAGMENT.match(text)
    if fragment:
        place = place_at(fragment["place"], people)
        yield (LIKELY if place.islower() or past.spoken_of(place) else going), place
    for place in subject_places(text, people):
        yield (LIKELY if past.spoken_of(place) else _subject_weight(text, place, past)), place
    if going and past.spoken_of(told_of(text)):
        yield LIKELY, told_of(text)
    relation, place = framing_place(text, people)
    yield (LIKELY if relation == "within" and _IS_VEHICLE.fullmatch(place) else FAINT + going), place
    around = (place_at(text[match.end() :], people) for match in _AT.finditer(text[:OPENING]))
    for place in (*backdrop_places(text, people), *around):
        yield (LIKELY if past.spoken_of(place) else FAINT) + going, place
    if going:
        yield from (
            (LIKELY, noun) for noun in _NOUN.findall(text[:OPENING]) if noun in past.said and place_at(noun, people)
        )


def _subject_weight(text: str, place: str, past: SoFar) -> float:
    here = (
        place in NEAR
        or from_here(text)
        or re.search(rf"\bthis (?:\w+ )?{re.escape(place)}\b", past.said, re.IGNORECASE)
    )
    if place.islower() and not here:
        return LIKELY
    return FAINT + past.going if place.islower() or (past.going and place in past.said) else 0
