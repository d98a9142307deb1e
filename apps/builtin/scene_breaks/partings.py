"""Whether a scene draws to its close: somebody goes, says goodbye, hangs up, or agrees to what comes next. Pure."""

from collections.abc import Sequence

from apps.builtin.scene_breaks.cue import word_pattern
from apps.builtin.scene_breaks.turns import Turn

END = 200  # characters of a message that show how it ends
SHORT = 80  # characters of a message that only answers the one before

VEHICLE = (
    r"(?:ship|shuttle|plane|train|bus|coach|carriage|boat|ferry|car|taxi|cab|truck|van|wagon|jet|helicopter|airship"
    r"|tram)"
)
_LEAVES = word_pattern(
    rf"""let's (?:go|move|get going|roll|ride)|lead the way|after you|on (?:my|our) way|road trip|that's where we
    |strap in
    |take me (?:to|there)|(?:grab|take|pull)(?:s|ed)? (?:on )?(?:my|his|her|the|our|your) (?:\w+ )?(?:coat|keys|bag|pack
    |jacket)
    |(?:get|climb|hop|slide|slip|jump|step)(?:s|ped)? (?:in|into|on|onto) (?:the |a |my |his |her )?(?:\w+ )?{VEHICLE}
    |(?:head|set|start|ride|drive|storm|hurr)\w* (?:out|off)|withdraws?|withdrew|mount(?:s|ed)? (?:up|his|her|my|our)
    |buckles?|start(?:s|ed)? the (?:car|engine)|leav(?:es?|ing)|left the|follow(?:s|ed)? (?:him|her|them)|waved? goodbye
    |run out|(?:and|then) (?:ran|runs?|follow(?:ed|s)?)(?=[.*])|took off|takes off|come on|move out|boarding|get in
    |we (?:go|ride|leave|walk)|see you (?:there|at|in)|meet (?:me|us|you)
    |follow me|right behind you|lead on|show me|show you|home(?=[.!?]+[\"”*]?$)|time to (?:go|leave|move)
    |saddle(?:s|d)? (?:up|the)|pack(?:s|ed)? (?:up|your|my|his|her|the|an?)|to the (?:car|horses|ship|boats?)
    |reach(?:es|ed|ing) for (?:the |my |his |her |their )(?:car )?(?:keys|coat|hat)
    |what are we waiting for|we(?:'re| are) (?:off|going|leaving)|off we go
    |if we (?:ride|go|leave|hurry|run|start)|(?:get|fetch|bring) (?:your|the) (?:\w+ )?(?:sword|coat|things|keys
    |horses?|car|gear)"""
)
_CLOSES = word_pattern(
    r"""(?:good)?bye|farewell|goodnight|good night|see you|see ya|until (?:then|tomorrow|tonight|next time)|take care
    |good luck|that's (?:everything|all|settled|that|the last of it)|(?:it's )?(?:a deal|agreed|a date|settled)
    |deal(?=[.!])
    |dismissed|adjourned|(?:i'll|we'll|i will|we will) (?:see|meet|call|text|pick|be (?:there|back|ready))
    |h[au]ng(?:s)? up|end(?:s|ed) the (?:call|line|transmission)|hit the showers|get some (?:rest|sleep)|sleep now
    |(?:eight|seven|six|nine|noon|midnight|dawn|sunset) (?:sharp|then|it is)|it's over|it is done|it's done
    |tonight[.!](?=[\"”])"""
)


def closing(previous: Sequence[Turn]) -> str:
    """The end of the last message; with that of the one before, where the last only answers it."""
    ends = [turn.text.strip()[-END:] for turn in previous[-2:]]
    return "\n".join(ends if ends and len(previous[-1].text) <= SHORT else ends[-1:])


def leaves(end: str) -> bool:
    """Whether somebody sets out at the end of a message."""
    return bool(_LEAVES.search(end))


def parts(end: str) -> bool:
    """Whether what was going on comes to its close there."""
    return bool(_CLOSES.search(end))
