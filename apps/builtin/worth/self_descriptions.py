"""Recognise short statements in which somebody says how they are: "I'm vegan.", "My wife is called Nora."

They say much in few words, so that a score by names, numbers and length misses them. Without database access.
"""

import re

from apps.builtin.reading.tokens import is_question

_START = r"^(?:(?:and|but|yes|no|well|also|so|oh|hi|hello|by the way|actually|btw)\b[\s,!.]*)*"
_NOT = r"(?:(?:also|still|actually|really|not|only|a bit)\s+)*"
# How somebody is for the moment. Other such words end with -ing or -ed: "waiting", "tired".
_PASSING = frozenset(
    """fine ok okay sorry glad sure happy sad angry hungry thirsty cold hot warm full busy late early ready free here
    there back home alone done so too very just all in at on with to of for out off up down over under about afraid
    aware able certain right wrong good well better great going not like proud curious serious the this that my your
    what who how lost kind""".split()
)
_LASTING_PARTICIPLES = re.compile(r".*-\w+ed|married|divorced|engaged|retired|adopted|widowed|related|disabled")
_AM = re.compile(rf"{_START}I(?:['’]m| am)\s+{_NOT}(?P<what>[\w-]+)", re.IGNORECASE)
_HAVE = re.compile(
    rf"{_START}I(?:['’]ve got| have got| have| own)\s+(?:an?|no|one|two|three|four|five|\d+)\s"
    r"(?!(?:\w+\s)?(?:ideas?|questions?|feeling|plans?|points?|problems?|doubts?|time|choice|hunch|clue|moment|reason"
    r"|way)\b)",
    re.IGNORECASE,
)
_HABIT = re.compile(
    rf"{_START}I\s+(?:live|work|hate|love|like|use|drink|eat|speak|play|wear|smoke|study|teach|collect|prefer|dislike"
    r"|enjoy|loathe|detest|despise|adore|avoid|(?:can['’]t|cannot|can not) (?:stand|bear|eat|drink))\s+\w",
    re.IGNORECASE,
)
# "I never work on Fridays", "I don't drink alcohol", "I've hardly ever seen snow"; "I don't know" is no habit.
_NEVER = re.compile(
    rf"{_START}I(?:['’]ve| have)?\s+(?:never|always|usually|often|rarely|seldom|hardly ever|no longer"
    r"|don['’]t|do not)\s+"
    r"(?!(?:know|think|care|understand|mind|see|believe|remember|want|need|mean|feel|get|say|expect|ask|have to)\b)"
    r"[a-z]+\s+\w",
    re.IGNORECASE,
)
_MINE = re.compile(
    rf"{_START}my\s+(?!dear\b|god\b|pleasure\b)(?:[\w'’-]+\s+){{1,5}}?(?:is|are|has|have|was|were)(?:n['’]t)?\s+(?!\w+ing\b)\w",
    re.IGNORECASE,
)
_BODY = r"(?:heart|heads?|hands?|eyes?|voice|breath|stomach|mind|face|cheeks?|fingers?|legs?|knees?|lips)"
_MINE_DOES = re.compile(
    rf"{_START}my\s+(?!{_BODY}\b)[\w'’-]+\s+(?:[\w'’-]+\s+){{0,3}}?(?!this\b)[a-z]{{3,}}s\s+\w", re.IGNORECASE
)
_UNCLEAR = re.compile(r"\b(?:you|your|yours|something|anything)\b", re.IGNORECASE)
_VAGUE_OBJECT = re.compile(r"\b(?:it|this|that|these|those|them|him|her)\b", re.IGNORECASE)


def describes_oneself(text: str) -> bool:
    """Return whether somebody says what they are, have, do as a habit or don't, or how what is theirs is."""
    if is_question(text) or _UNCLEAR.search(text):
        return False
    if match := _AM.match(text):
        return _is_lasting(match["what"].casefold())
    if _HABIT.match(text) or _NEVER.match(text):
        return not _VAGUE_OBJECT.search(text)
    return any(pattern.match(text) for pattern in (_HAVE, _MINE, _MINE_DOES))


def _is_lasting(word: str) -> bool:
    """Return whether the word after "I am" says how somebody is for good, as far as its form tells."""
    if word in _PASSING or word.endswith(("ing", "ly")):
        return False
    return not word.endswith("ed") or bool(_LASTING_PARTICIPLES.fullmatch(word))
