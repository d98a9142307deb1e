"""What a message opens on where it opens on no person: the place that its first sentence shows. Pure."""

import re
from collections.abc import Collection, Iterator

from apps.memories.builtin_extraction.scene_breaks.places import setting_at
from apps.memories.builtin_extraction.scene_breaks.readings import habitual

OPENING = 110  # characters of a sentence that show a place

_SHOWN = (
    r"(?:is|was|are|were|ha[sd]|seem(?:s|ed)?|smell(?:s|ed)?|smelt|reek(?:s|ed)?|stinks?|stank|greet(?:s|ed)?"
    r"|stands?|stood|sits?|sat|look(?:s|ed)?|welcom(?:es?|ed)|hum(?:s|med)?|buzz(?:es|ed)?|bustle[sd]?|loom(?:s|ed)?"
    r"|rises?|rose|lies?|lay|sprawl(?:s|ed)?|stretch(?:es|ed)?|throb(?:s|bed)?|glow(?:s|ed)?|glitter(?:s|ed)?"
    r"|sparkle[sd]?|swarm(?:s|ed)?|teem(?:s|ed)?|crouch(?:es|ed)?|cl[iu]ng(?:s)?|perch(?:es|ed)?|roar(?:s|ed)?"
    r"|puls(?:es?|ed)|shimmer(?:s|ed)?|gleam(?:s|ed)?|turn(?:s|ed)? out|proves?|proved|feels?|felt|sle(?:eps?|pt)"
    r"|doz(?:es?|ed)|r[iau]ngs? with|blaz(?:es?|ed)|overflow(?:s|ed)?|opens? (?:on|at|to)|tower(?:s|ed)?|nestle[sd]?"
    r"|echo(?:es|ed)?|thrum(?:s|med)?|steam(?:s|ed)?|swelter(?:s|ed)?|bak(?:es|ed)|spread(?:s)?|spills?|heav(?:es?|ed)"
    r"|taste[sd]?|bristle[sd]?|drips?|dripped|creak(?:s|ed)?|offer(?:s|ed)?|held|holds)"
)
_SUBJECT = re.compile(
    rf"(?P<place>(?:[Tt]he |[A-Z])[\w' -]{{2,40}}?)(?: grounds| itself)?(?:, [^,]{{3,40}},)?(?: all| both| now| still| already| \w+ly)? {_SHOWN}\b"
)
_NOBODY = re.compile(
    r"(?:the|an?|there|it|rain|snow|wind|music|fog|mist|smoke|neon|gulls|traffic|waves|lanterns|candles|torches"
    r"|sunlight|moonlight|dust|steam|light|lights|voices|crowds?|banners|under|beneath|above|below|beyond|down|up|inside"
    r"|outside|at|in|on|aboard|high|deep|behind)\b",
    re.IGNORECASE,
)
_AT = re.compile(
    r"\b(?:in|at|inside|aboard|outside|across|around|over|through|against|onto?|from|under|beneath|above|along|over"
    r"|behind|of) (?=\S)",
    re.IGNORECASE,
)
_HAPPENS = re.compile(
    r"\b(?:doors?|bells?|phone|window|silent|silence|quiet|still|hush|shak\w+|shook|trembl\w+|shudder\w*|explod\w+"
    r"|erupt\w*|burst\w*|suddenly|again|too|opens?|opened|slams?|slammed)\b",
    re.IGNORECASE,
)


def subject_places(text: str, people: Collection[str]) -> Iterator[str]:
    """The place that the sentence tells of: "The harbour was empty", "Omsk, when it came, was a kiosk"."""
    subject = _SUBJECT.match(text)
    if subject and not _HAPPENS.search(subject[0]) and not habitual(text):
        yield setting_at(subject["place"], people)


def backdrop_places(text: str, people: Collection[str]) -> Iterator[str]:
    """The places around what goes on by itself: "Rain hisses on the awning of the noodle stand"."""
    if _NOBODY.match(text) and not _HAPPENS.search(text[:OPENING]) and not habitual(text):
        for match in _AT.finditer(text[:OPENING]):
            yield setting_at(text[match.end() :], people)
