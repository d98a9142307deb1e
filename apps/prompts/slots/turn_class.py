"""Classify a user turn by its words. Without database access."""

import re

DIALOGUE, ACTION, TRANSITION, INTIMATE = "dialogue", "action", "transition", "intimate"

# Quoted speech is ignored: a character who talks about a battle is not in one. What closes it, by its opening mark.
_MARKS = {'"': '"', "“": "”", "„": "“”", "«": "»", "「": "」"}
_CLOSING = {mark: re.compile(f"[{marks}]") for mark, marks in _MARKS.items()}
_OPENING = re.compile(f"[{''.join(_MARKS)}]")


def _word_pattern(*patterns: str) -> re.Pattern[str]:
    """Return a pattern that matches any of ``patterns`` as whole words, in any case."""
    return re.compile(rf"\b(?:{'|'.join(patterns)})\b", re.IGNORECASE)


_PATTERNS_BY_CLASS = {
    ACTION: _word_pattern(
        r"attack\w*", r"fight\w*|fought", r"str(?:ikes?|uck|iking)", r"slash\w*", r"stab\w*", r"punch\w*",
        r"kick\w*", r"dodg\w+", r"parr(?:y|ies|ied|ying)", r"block(?:s|ed|ing)? (?:the|his|her|a) \w+",
        r"charg(?:es?|ed|ing)", r"lung(?:es?|ed|ing)", r"(?:leap|jump|sprint)\w*",
        r"(?:dash|chas)(?:e|es|ed|ing)", r"flee(?:s|ing)?|fled",
        r"(?:run|runs|ran|running) (?!late|out of|low|a |the )\w+", r"swords?", r"blades?", r"daggers?",
        r"arrows?", r"shields?", r"blood\w*", r"explo(?:de|sion)\w*", r"gun(?:s|shot|shots|fire)?",
        r"fir(?:es|ed) (?:at|upon)", r"battle", r"ambush\w*", r"scream\w*", r"grabs?|grabbed",
        r"shov(?:es?|ed|ing)", r"draws? (?:his|her|their|my|a|the) (?:sword|blade|bow|gun|knife|weapon)",
    ),
    TRANSITION: _word_pattern(
        r"(?:the )?next (?:morning|day|evening|night|week|month|year)", r"meanwhile",
        r"after (?:a|some) (?:while|time)",
        r"(?:hours?|days?|weeks?|months?|years?|minutes?) (?:later|pass\w*|went by|go by)",
        r"time (?:skip|passes|passed)",
        r"(?:later that|that same|by) (?:morning|day|evening|night|afternoon)",
        r"at (?:dawn|dusk|sunrise|nightfall)", r"arriv(?:e|es|ed|ing) (?:at|in|home)", r"journey\w*",
        r"travel(?:s|led|ed|ling|ing)?", r"sets? (?:out|off)", r"the road to",
        r"(?:reach|reaches|reached) the \w+",
    ),
    INTIMATE: _word_pattern(
        r"kiss\w*", r"embrac\w+", r"cuddl\w+", r"snuggl\w+", r"caress\w*", r"whisper\w*", r"tender\w*",
        r"nuzzl\w+", r"strok(?:es?|ed|ing) (?:his|her|their|my)",
        r"hold(?:s|ing)? (?:him|her|them|me|you|hands)", r"lips", r"blush\w*",
        r"held (?:him|her|them|me|hands)", r"in (?:his|her|their|my|your) arms",
        r"gaz(?:e|es|ed|ing) into", r"loving\w*",
        r"heart(?:beat)? (?:races?|raced|flutters?|fluttered|pound\w*)",
        r"(?:lean|leans|leaned|leaning) (?:against|into|closer)",
    ),
}  # fmt: skip


def classify(text: str) -> str:
    """Return the class with the most distinct matches in the narration of a turn, or "dialogue" if nothing matches.

    On a tie, the first class of ``_PATTERNS_BY_CLASS`` wins.
    """
    narration = _narration(text)
    matches = {name: pattern.findall(narration) for name, pattern in _PATTERNS_BY_CLASS.items()}
    counts = {name: len({word.casefold() for word in words}) for name, words in matches.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] else DIALOGUE


def _narration(text: str) -> str:
    """Return the text with a space in place of quoted speech. A mark that nothing closes is a part of it.

    Nothing is looked for twice, as one expression would for each of many marks that nothing closes.
    """
    parts: list[str] = []
    begin = at = 0
    unclosed: set[str] = set()
    while opening := _OPENING.search(text, at):
        mark, at = opening[0], opening.end()
        closing = None if mark in unclosed else _CLOSING[mark].search(text, at)
        if closing is None:
            unclosed.add(mark)
        else:
            parts.append(text[begin : opening.start()])
            begin = at = closing.end()
    return " ".join([*parts, text[begin:]])
