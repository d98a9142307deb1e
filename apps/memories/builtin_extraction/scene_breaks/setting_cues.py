"""Cues of a message that opens on another setting: the place or the event that was spoken of, or one that is new after
somebody left. Pure."""

import re
from collections.abc import Collection, Iterator

from apps.memories.builtin_extraction.scene_breaks.calendar_words import EVENT
from apps.memories.builtin_extraction.scene_breaks.cue import CLEAR, FAINT, LIKELY, Cue, word_pattern
from apps.memories.builtin_extraction.scene_breaks.places import place_at
from apps.memories.builtin_extraction.scene_breaks.readings import before_veto

OPENING = 60  # characters of a message's first sentence that set it
END = 200  # characters of the message before that show that somebody leaves

_AT = re.compile(r"\b(?:in|at|inside|aboard|outside|across|around|over) (?=\S)", re.IGNORECASE)
_FRAGMENT = re.compile(r"(?P<place>(?:[Tt]he )?[A-Z][\w'-]+(?: [A-Z][\w'-]+){0,3})[.…]$")
_NOUN = re.compile(r"\b[a-z]{3,}\b")
_SUBJECT = re.compile(
    r"(?P<subject>(?:[Tt]he |[A-Z])[\w' -]{2,40}?)(?: grounds| itself)? (?:is|was|are|were|ha[sd]|seem(?:s|ed)"
    r"|smell(?:s|ed)"
    r"|greet(?:s|ed)|stands?|stood|look(?:s|ed)|welcom(?:es?|ed)|hum(?:s|med)|buzz(?:es|ed)|bustle[sd]?|loom(?:s|ed)"
    r"|rises?|rose"
    r"|lies|lay|sprawl(?:s|ed)|stretch(?:es|ed))\b"
)
_EVENT = word_pattern(
    rf"""(?:the |her |his |their |my |our )?(?:\w+ )?(?P<event>{EVENT}|festival|dance|picnic|date|reunion|coronation)
    + (?:is|was|were|are|had|has|began|begins|starts?|started|went|goes)"""
)
_GOING = r"(?:to|at|for|into|towards?|until|till|before|reach|leaving|left|after|check|visit|find|see|search)"
_VEHICLE = (
    r"(?:ship|shuttle|plane|train|bus|coach|carriage|boat|ferry|car|taxi|cab|truck|van|wagon|jet|helicopter|airship"
    r"|tram)"
)
_LEAVES = word_pattern(
    rf"""let's (?:go|move|get going|roll|ride)|lead the way|after you|on (?:my|our) way|road trip|that's where we
    |strap in
    |take me (?:to|there)|(?:grab|take|pull)(?:s|ed)? (?:on )?(?:my|his|her|the|our) (?:\w+ )?(?:coat|keys|bag|pack
    |jacket)
    |(?:get|climb|hop|slide|slip|jump|step)(?:s|ped)? (?:in|into|on|onto) (?:the |a |my |his |her )?(?:\w+ )?{_VEHICLE}
    |(?:head|set|start|ride|drive|storm|hurr)\w* (?:out|off)|withdraws?|withdrew|mount(?:s|ed)? (?:up|his|her|my|our)
    |buckles?|start(?:s|ed)? the (?:car|engine)|leav(?:es?|ing)|left the|follow(?:s|ed)? (?:him|her|them)|waved? goodbye
    |run out|(?:and|then) (?:ran|runs?|follow(?:ed|s)?)(?=[.*])|took off|takes off|come on|move out|boarding|get in
    |we (?:go|ride|leave|walk)|see you (?:there|at|in)|meet (?:me|us|you)"""
)
_GOT_THERE = word_pattern(
    r"""(?:when|by the time|once|as) (?:they|we|i|he|she|you|[A-Z]\w+)(?: both| all| finally)*
    + (?:arriv(?:es?|ed)|g[eo]ts? there|reach(?:es|ed)|pull(?:s|ed)? (?:in|up))"""
)
_RIDE = word_pattern(
    rf"""(?:the|our|their|my|his|her) (?:\w+ )?{_VEHICLE} (?:\w+ly )?(?:drop(?:s|ped)? out|land(?:s|ed)|dock(?:s|ed)
    |touch(?:es|ed) down|pull(?:s|ed) (?:in|up|into|over)|roll(?:s|ed) (?:to a|into)|slow(?:s|ed)|stop(?:s|ped)
    |arriv(?:es|ed)|glid(?:es|ed) (?:in|to)|(?:shudder|lurch)(?:s|es|ed) to|c[ao]mes? to a (?:halt|stop))"""
)
_TAKES = word_pattern(
    r"""it (?:takes|took) (?:\w+ ){0,7}(?:hours|days|nights|weeks|months|years
    |an? (?:hour|day|night|week|month|year))"""
)


def setting_cues(text: str, said: str, before: str, people: Collection[str]) -> Iterator[Cue]:
    """The cues in a message's first narrated sentence. ``said`` are the messages before as they stand, ``before`` the
    last of them."""
    leaves = FAINT if _LEAVES.search(before[-END:]) else 0
    if _TAKES.match(text):
        yield Cue(CLEAR, text[:OPENING], explicit=True)
    if _GOT_THERE.search(text) and not before_veto(text.split(" when ")[0]):
        yield Cue(CLEAR, text[:OPENING])
    if _RIDE.match(text):
        yield Cue(FAINT + leaves, text[:OPENING])
    event = _EVENT.match(text)
    if event and _spoken_of(event["event"], said):
        yield Cue(LIKELY, event[0], place=event["event"])
    for weight, place in (named for named in _places(text, said, leaves, people) if named[1]):
        yield Cue(weight, place, place=place)


def _places(text: str, said: str, leaves: float, people: Collection[str]) -> Iterator[tuple[float, str]]:
    """(weight, place) of the places that the opening of a sentence names. One of which nothing was heard yet opens a
    scene by itself where it is what the sentence tells of."""
    fragment, subject = _FRAGMENT.match(text), _SUBJECT.match(text)
    if fragment:
        place = place_at(fragment["place"], people)
        yield (LIKELY if place.islower() or _spoken_of(place, said) else leaves), place
    if subject:
        place = place_at(subject["subject"], people)
        known = place.lower() in said.lower() if place.islower() else True
        yield (LIKELY if not known or _spoken_of(place, said) else FAINT + leaves if place.islower() else 0), place
    for match in _AT.finditer(text[:OPENING]):
        place = place_at(text[match.end() :], people)
        yield (LIKELY if _spoken_of(place, said) else FAINT) + leaves, place
    if leaves:
        yield from ((LIKELY, noun) for noun in _NOUN.findall(text[:OPENING]) if noun in said and place_at(noun, people))


def _spoken_of(word: str, said: str) -> bool:
    """Whether somebody spoke of going there."""
    return bool(re.search(rf"\b{_GOING} (?:\w+ ){{0,3}}{re.escape(word)}\b", said, re.IGNORECASE))
