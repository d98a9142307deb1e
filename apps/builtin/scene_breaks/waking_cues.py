"""Cues that somebody wakes, and whether somebody fell asleep before. Pure."""

import re
from collections.abc import Iterator

from apps.builtin.scene_breaks.cue import CLEAR, FAINT, Cue, compiled, word_pattern
from apps.builtin.scene_breaks.readings import after_veto, before_veto, tells_of_the_past

START = 120

_ITS = "(?:his|her|my|their|your|our)"
_PATTERNS = compiled(
    {
        CLEAR: rf"""
            (?:wakes?|woke|awakes|awoke|awoken|awakens?|awakened|wakened)(?: up)?
            +(?! (?:him|her|them|me|us|you|his|something|the (?!next|morning)))
            (?:is|am|are|was|were|gets?|got) (?:\w+ly )?(?:woken|awoken|awakened|awoke|roused)
            (?:jolt|jerk|snap|start|startle|shak|blink|stir|come|came|shook|rous|ease)(?:s|ed|es|t)? (?:\w+ )?awake
            regain(?:s|ed)? consciousness|(?:comes?|came) (?:back )?to {_ITS} senses
            (?:he|she|i|we|they|you|[A-Z]\w+) (?:finally |slowly )?(?:comes?|came) to
            +(?= (?:in|on|with|slowly|under|beside|to|hours)|[,.])
            open(?:s|ed)? {_ITS} eyes to
            (?:sleep|sleeps|slept) (?:in )?(?:till|until|through|past|for (?:\w+ )?(?:hours|days)|the (?:whole|day
            |night|clock))
            alarm (?:clock )?(?:goes|went) off at|alarm clock
            (?:alarm|rooster|cock|bugle) (?:crows?|crowed|wakes?|woke|rouses|roused|drags?)
        """,
        FAINT: r"""
            (?:is|was|are|were|am) already (?:up|awake|dressed|out of bed|gone|at the stove)
        """,
    }
)
_CONJUNCTION = re.compile(r"^(?:when|as|once|until|before)\b", re.IGNORECASE)
_NOUN = re.compile(r"\b(?:the|a|in|his|her|their|its) $", re.IGNORECASE)
_ROUSES = re.compile(r"\b(?:nudge|shak|shook|poke|prod|kick|slap|wake|waking|woke|splash|rous|jostl)\w*", re.IGNORECASE)
_ASLEEP = word_pattern(
    rf"""f[ae]ll(?:s|en|ing)? (?:(?:fast )?asleep|into (?:an? )?(?:\w+ )?(?:sleep|slumber))|asleep|sweet dreams
    |(?:doz|drift|nod)(?:e|es|s|ed|ded|ing)? off|sleep (?:takes|took|claims|claimed|well|tight)|sleeps?[.!]?$
    |(?:pass|black)(?:es|ed|s)? out|faint(?:s|ed)?|los(?:e|es|t) consciousness|clos(?:e|es|ed) (?:{_ITS}|both) eyes
    |(?:go|goes|went|going|off|climbs?|gets?|crawls?|time) (?:in)?to (?:bed|sleep)|'?g(?:ood)?'? ?night|night,(?= [A-Z])
    |night[.!]*[\"”]|(?:everything|world) (?:goes|went) (?:dark|black)"""
)
_GREETS = re.compile(
    r"(?:^|[\"“'‘*]\s*)(?:good )?morning\b(?! light)|\b(?:good morning|sleepyhead|rise and shine|you're awake)\b",
    re.IGNORECASE,
)
_STIRS = word_pattern(
    r"""birdsong|birds|rooster|alarm|breakfast|coffee|pancakes|bacon|stretch(?:es|ed)?|yawn(?:s|ed)?|blink(?:s|ed)?
    |groan(?:s|ed)?|stir(?:s|red)?|rub(?:s|bed)? (?:his|her|my|the) (?:eyes|sleep)"""
)


def waking_cues(text: str, before: str) -> Iterator[Cue]:
    """The cues of waking in a narrated sentence; ``before`` is the message before, in which nobody is being roused."""
    if _ROUSES.search(before) or tells_of_the_past(text):
        return
    for weight, pattern in _PATTERNS:
        match = pattern.search(text)
        if match and not (match[0].lower() == "wake" and _NOUN.search(text[: match.start()])):
            led = before_veto(_CONJUNCTION.sub("", text[: match.start()]))
            if not led and not after_veto(text[match.end() :]):
                yield Cue(weight, match[0])


def asleep(end: str) -> bool:
    """Whether somebody goes to sleep, or loses consciousness, where messages end so."""
    return bool(_ASLEEP.search(end))


def rises(message: str) -> bool:
    """Whether ``message``, after somebody slept, reads like a morning."""
    return bool(_GREETS.search(message) or _STIRS.search(message[:START]))
