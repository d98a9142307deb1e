"""Find scene breaks with patterns like the original's (Smart Memory 1.7.9), for comparison. Without database access.

The patterns are our own, written from a description of which cases the original's match and miss.

They are searched in the whole message, including speech, and don't distinguish plans and memories from events: "a week"
in any sentence matches, as do a walk to the door and bold next to italics; a destination without an article does not.
"""

import re
from collections.abc import Sequence

from apps.builtin.scene_breaks import SceneTurn

_DETERMINER = r"(?:the|a|\w+'s)\b"
_TIME_UNITS = r"(?:hour|day|week|month|year)s?"
_PHRASES = (
    r"later (?:that|the same) (?:day|morning|afternoon|evening|night)",  # time relative to the last scene
    r"(?:the )?next (?:day|morning|evening|night|week)|the following \w+",
    rf"\w+ {_TIME_UNITS} later|some ?time later|meanwhile|after (?:a while|some time)",
    r"\ba (?:week|month|year|decade)\b|\bseveral (?:hours|days|weeks|months|years)\b",  # time by itself
    r"\w+ years (?:passed|went by)",
    rf"arriv(?:es?|ed) at {_DETERMINER}|f(?:ound|inds?) (?:him|her|them|my|your)sel(?:f|ves) in",  # arrivals
    r"ma[kd]es? (?:his|her|their|my|your) way to|(?:fled|flees?|escap(?:es?|ed)) to",
    rf"(?:head(?:s|ed)|l(?:ed|eads)|walk(?:s|ed)|wander(?:s|ed)) (?:to|into|toward) {_DETERMINER}",  # travel
    r"settl(?:es?|ed) in\b|ma[kd]es? (?:camp|home|base)|t(?:ook|akes?) (?:shelter|refuge)",  # settling
    r"(?:night|dawn|darkness|dusk) (?:falls?|fell|breaks?|broke)",  # day and night
    r"f[ae]lls? asleep|doz(?:es|ed) off|drift(?:s|ed) off|w(?:akes?|oke)\b|awoke|awakens?",  # sleep
    r"regain(?:s|ed) consciousness|came to (?:his|her|their) senses|opened (?:his|her|their) eyes to find",
    rf"return(?:s|ed) to {_DETERMINER}|upon (?:arriving|reaching|entering)",  # returns
    r"the morning after|by (?:morning|nightfall|dawn|dusk|midnight)|in the (?:days|weeks|months) that followed",
)
_PATTERN = re.compile("|".join(_PHRASES), re.IGNORECASE)
_HORIZONTAL_RULE = re.compile(r"^[ \t]*[-*~]{3,}[ \t]*$", re.MULTILINE)
_ASTERISKS = re.compile(r"\*\s*\*\s*\*")  # anywhere in the message, as in the original


def original_scene_starts(turns: Sequence[SceneTurn]) -> list[int]:
    """Return the positions of the turns, except the first, whose text matches a pattern.

    The original assigns such a message to the previous scene; here it begins a scene, as it usually does.
    """
    patterns = (_PATTERN, _HORIZONTAL_RULE, _ASTERISKS)
    return [
        position
        for position, turn in enumerate(turns)
        if position and any(pattern.search(turn.text) for pattern in patterns)
    ]
