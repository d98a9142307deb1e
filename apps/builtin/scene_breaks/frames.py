"""The place that the first sentence of a message shows: what it tells of, what is around, where somebody is. Pure."""

import re
from collections.abc import Collection, Iterator

from apps.builtin.scene_breaks.places import setting_at
from apps.builtin.scene_breaks.readings import habitual

STATE = 15  # characters after its verb that show what becomes of a place
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
    rf"(?P<place>(?:[Tt]he |[A-Z])[\w' -]{{2,40}}?)(?: grounds| itself)?(?:, [^,]{{3,40}},)?(?: all| both| now"
    rf"| still| already| \w+ly)? {_SHOWN}\b"
)
_NOBODY = re.compile(
    r"(?:the|an?|there|it|rain|snow|wind|music|fog|mist|smoke|neon|gulls|traffic|waves|lanterns|candles|torches"
    r"|sunlight|moonlight|dust|steam|light|lights|voices|crowds?|banners|under|beneath|above|below|beyond|down|up"
    r"|inside"
    r"|outside|at|in|on|aboard|high|deep|behind)\b",
    re.IGNORECASE,
)
_AT = re.compile(
    r"\b(?:in|at|inside|aboard|outside|across|around|over|through|against|onto?|from|under|beneath|above|along|over"
    r"|behind|of) (?=\S)",
    re.IGNORECASE,
)
_BELOW = re.compile(
    r"(?:(?:far |deep |high |just )?(?P<other>beneath|below|above|under|underneath)|(?:out |over )?(?:beyond|outside"
    r"|behind"
    r"|across|past|at the (?:\w+ )?(?:bottom|top|end|edge|foot|back|head|mouth) of|on the (?:\w+ )?(?:side|edge"
    r"|bank) of"
    r"|(?P<within>in|on|aboard|inside|at|by))) (?P<place>(?:the|an?|his|her|their|my|our|your"
    r"|[A-Z])\b[^,.;❝]{2,40}?)(?:,| (?=the |an? |he |she |they |we |i |you |there ))",
    re.IGNORECASE,
)
_RESTS = re.compile(
    r"\b(?:stood|stands?|standing|sat|sits?|sitting|l[ai]y|lies|lying|waits?|waited|waiting|lean(?:s|ed|t|ing)?"
    r"|crouch(?:es|ed|ing)?|kne[el]l?t?s?|kneeling|perch(?:es|ed)?|pac(?:es?|ed|ing)|huddle[sd]?|slump(?:s|ed)?"
    r"|squint(?:s|ed)?|work(?:s|ed)|queue[sd]?|sweat(?:s|ed)?|shiver(?:s|ed)?|is|was|are|were|am|\w+'re|i'm"
    r"|watch(?:es|ed)?) (?:[\w'-]+ ){0,4}?(?:on|from|at|in|by|outside|inside|beside|under|along|aboard|beneath"
    r"|behind) (?=\S)"
)
_BEHIND = re.compile(r"(?P<place>(?:[Tt]he |[A-Z])[\w' -]{2,40}?) (?:\w+ ){0,3}behind (?:them|us|him|her|me|you)\b")
_FROM_HERE = re.compile(
    r"\b(?:below|ahead|around|behind|beyond|before|above|beneath|between|beside|to|at|for|past|over|with) (?:of )?"
    r"(?:them|you|us|him|her(?! \w)|me)\b|\b(?:yards|met(?:re|er)s|feet|paces|miles) (?:off|away|ahead)"
    r"|\b(?:here|ahead|up close|closer|so (?:he|she|you|i|they|we))\b",
    re.IGNORECASE,
)
_HAPPENS = re.compile(
    r"\b(?:doors?|bells?|dark|black|lights|empties|fills|filling|emptying|phone|window|silent|silence|quiet|still"
    r"|hush|shak\w+|shook|trembl\w+|shudder\w*|explod\w+"
    r"|erupt\w*|burst\w*|suddenly|again|too|opens?|opened|slams?|slammed)\b",
    re.IGNORECASE,
)


def from_here(text: str) -> bool:
    """Whether a sentence shows a place as those see it who are there already: "The city lies below them"."""
    return bool(_FROM_HERE.search(text))


def subject_places(text: str, people: Collection[str]) -> Iterator[str]:
    """The place that the sentence tells of: "The harbour was empty", "Omsk, when it came, was a kiosk"."""
    subject = _SUBJECT.match(text)
    if subject and not _HAPPENS.search(text[: subject.end() + STATE]) and not habitual(text):
        yield setting_at(subject["place"], people)


def left_place(text: str, people: Collection[str]) -> str:
    """The place that those of the story have left: "The village burns behind them"."""
    left = _BEHIND.match(text)
    return setting_at(left["place"], people) if left and not _HAPPENS.search(left[0]) else ""


def backdrop_places(text: str, people: Collection[str]) -> Iterator[str]:
    """The places around what goes on by itself: "Rain hisses on the awning of the noodle stand"."""
    if _NOBODY.match(text) and not _HAPPENS.search(text[:OPENING]) and not habitual(text):
        for match in _AT.finditer(text[:OPENING]):
            yield setting_at(text[match.end() :], people)


def resting_places(text: str, people: Collection[str]) -> Iterator[str]:
    """The places where somebody stands, sits or waits already: "Theodora stood at the stern of the ferry"."""
    if not habitual(text):
        for match in _RESTS.finditer(text):
            yield setting_at(text[match.end() :], people)


def framing_place(text: str, people: Collection[str]) -> tuple[str, str]:
    """("below" or "within" or "near", place) of a sentence that begins with where it is: "Beneath the arena, …"."""
    frame = _BELOW.match(text)
    if not frame or habitual(text):
        return "", ""
    place = setting_at(frame["place"], people)
    relation = "below" if frame["other"] else "within" if frame["within"] else "near"
    return (relation, place) if place else ("", "")


def told_of(text: str) -> str:
    """The last word of what the sentence tells of, where it is a thing: "The ford was choked with reeds": "ford"."""
    subject = _SUBJECT.match(text)
    words = subject["place"].lower().split() if subject and not _HAPPENS.search(subject[0]) else []
    return words[-1] if words[:1] == ["the"] and not habitual(text) else ""
