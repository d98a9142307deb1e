"""Cues of the day's course: night falls, the sun comes up, morning light comes in. Pure."""

from collections.abc import Iterator

from apps.builtin.scene_breaks.calendar_words import SEASON
from apps.builtin.scene_breaks.cue import CLEAR, FAINT, LIKELY, Cue, compiled
from apps.builtin.scene_breaks.readings import after_veto, before_veto

LATE = 40  # characters; a cue that comes later in its sentence counts half

_FALLS = (
    r"(?:falls?|fell|comes?|came|breaks?|broke|arrive[sd]?|descend(?:s|ed)|settle[sd]?|gives? way|gave way|turn(?:s|ed)"
    r"|finds?|found|creeps?|crept|deepen(?:s|ed)|roll(?:s|ed) (?:a?round|in)|dawn(?:s|ed)|pass(?:es|ed)|slip(?:s|ped)"
    r"|bleeds?|bled|brings?|brought|melt(?:s|ed)|(?:has|had) (?:fallen|come|broken|passed)|close[sd] in|draws in"
    r"|drew in"
    r"|wore on|wears on|fade[sd] into|stretch(?:es|ed)|ends|ended)"
)
_MOVES = (
    r"(?:ris(?:es|en)|rose|sets?|sinks?|sank|sunk|climb(?:s|ed)|dip(?:s|ped)|goes down|went down|gone down|comes? up"
    r"|came up|comes? out|came out|slip(?:s|ped) (?:below|behind|under)|disappear(?:s|ed) behind|vanish(?:es"
    r"|ed) behind)"
)
_SHINES = (
    r"(?:streams?|filters?|spills?|creeps?|pours?|seeps?|leaks?|slants?|wakes?|finds?|slips?|slides?|peeks?|falls?"
    r"|floods?"
    r"|glows?|warms?|lay|lies|hits?|touches|shines?|breaks?|climbs?|came|comes|streamed|filtered|spilled|spilt|crept"
    r"|poured"
    r"|seeped|leaked|slanted|woke|found|slid|fell|flooded|hit|touched|shone|broke|peeked)"
)
_PATTERNS = compiled(
    {
        CLEAR: rf"""
            (?:night|darkness|dusk|evening|twilight|morning|dawn|day|daylight|daybreak|noon|midnight|{SEASON}) {_FALLS}
            (?:sun|moon|stars?) (?:\w+ly |has |had |already )*{_MOVES}
        """,
        LIKELY: rf"""
            (?:(?:morning|dawn|early|rising|first) (?:sun|sunlight|light)|light of (?:dawn|morning|day)
            |rays of (?:dawn|the \w+ ?sun))
            + (?:\w+ ){{0,3}}?(?:{_SHINES}|is|was)
            (?:sun|moon) (?:is|was|has been|had been) (?:already |now |long |well |nearly |almost )*(?:up|high|down
            |gone|overhead)
            it (?:is|was) (?:already |nearly |almost |suddenly )?(?:morning|dawn|midnight|evening|noon)(?! (?:when
            |before|and) )
            (?:smoke|dust) (?:finally )?(?:clear|settle)(?:s|ed)
        """,
        FAINT: rf"""
            (?:sunlight|daylight|sunshine|the sun|grey light|pale light) (?:\w+ly )?(?:{_SHINES}|on
            |through|across|in)
            (?<!\w )(?:sunlight|daylight|sunshine)(?=[.…]$)
        """,
    }
)


def sky_cues(text: str) -> Iterator[Cue]:
    """The cues of the sky in a narrated sentence."""
    for weight, pattern in _PATTERNS:
        match = pattern.search(text)
        if match and not before_veto(text[: match.start()]) and not after_veto(text[match.end() :]):
            yield Cue(weight if match.start() < LATE else weight / 2, match[0])
