"""Cues that time passes: "three days later", "that evening", "weeks went by", "the next morning". Pure."""

import re
from collections.abc import Iterator

from apps.builtin.scene_breaks.calendar_words import COUNT, DAYPART, FEAST, MONTH, POINT, SEASON, UNIT, WEEKDAY
from apps.builtin.scene_breaks.cue import CLEAR, Cue
from apps.builtin.scene_breaks.readings import after_veto, before_time_veto
from apps.builtin.scene_breaks.time_patterns import ANYWHERE, LEADING

MID_SENTENCE = 0.6  # the share of its weight that a cue keeps within a sentence

# Words that may stand before what leads a sentence.
_OPEN = re.compile(
    r"(?:(?:then|and|but|so|it's|it is|it was|it wasn't|now|well|only|early|late|very|just|shortly|not|long|soon"
    r"|sometime"
    r"|some time|much|around|close to|near|nearly|almost|exactly|finally|eventually|at last|somehow|bright and early"
    r"|already|a|the|cut to|skip to|precisely|when|as|once|until|too soon|all too soon|before long|by),? )*",
    re.IGNORECASE,
)
_FRAGMENT = re.compile(
    rf"(?:(?:the|early|late|mid|grey|gray|cold|another|same|next|following|nearly|almost|past|well|a|long|much) "
    rf"|mid-?)*"
    rf"(?:{DAYPART}|{WEEKDAY}(?: {DAYPART})?|{SEASON}|{MONTH}|{FEAST}|nightfall|{POINT}|later|first light"
    rf"|(?:day|week|month|year|night) (?:\w+|\d+)|{COUNT}{UNIT}|back to the present)\W*",
    re.IGNORECASE,
)
_SOON = re.compile(
    rf"\b(?:moments?|seconds?(?! (?:{DAYPART}|{WEEKDAY}|week|month|year))|minute|beat|instant|heartbeats?|breaths?)\b",
    re.IGNORECASE,
)
_GOVERNED = re.compile(
    r"(?:\b(?:for|until|till|since|of|about|than|from|if|on|before|to|into|as|like|whole|all)|'s) $", re.IGNORECASE
)


def time_cues(text: str) -> Iterator[Cue]:
    """The cues of time in a narrated sentence, as far as the words around them let them count."""
    if _FRAGMENT.fullmatch(text):
        yield Cue(CLEAR, text.strip(" .,!…"), explicit=True)
    opening = _OPEN.match(text)
    lead = opening.end() if opening else 0
    yield from _leading(text, lead)
    for weight, pattern in ANYWHERE:
        for match in pattern.finditer(text):
            yield from _anywhere(text, weight, match, lead)


def _leading(text: str, lead: int) -> Iterator[Cue]:
    for weight, pattern in LEADING:
        match = pattern.match(text) or pattern.match(text, lead)
        if match and not _SOON.search(match[0]) and not after_veto(text[match.end() :]):
            yield Cue(weight, match[0], explicit=weight >= CLEAR)


def _anywhere(text: str, weight: float, match: re.Match[str], lead: int) -> Iterator[Cue]:
    before = text[: match.start()]
    if _SOON.search(match[0]) or after_veto(text[match.end() :]):
        return
    if match.start() <= lead:
        yield Cue(weight, match[0], explicit=True)
    elif not before_time_veto(before) and not _GOVERNED.search(before):
        yield Cue(weight * MID_SENTENCE, match[0])
