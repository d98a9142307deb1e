"""What a sentence tells of how somebody is: where, in what mood, hurt, dressed, wanting what. Pure.

Only what holds at the moment counts: what is told of the past, planned, denied or supposed changes nothing.
"""

import re
from collections.abc import Iterator

from apps.builtin.ledger_changes import StateChange
from apps.builtin.phrases import bare, clause_from, is_name, noun_phrase
from apps.builtin.statements import Statement, person_meant, subjects
from apps.builtin.threads import VAGUE
from apps.memories.wording import content_words, stem

_NOT_NOW = re.compile(
    r"\b(?:usually|often|always|never|every|sometimes|used to|once|ago|last|yesterday|when (?:i|he|she) was|as a child|"
    r"back then|in (?:19|20)\d\d|years?|tomorrow|next|would|will|remember(?:s|ed)?|like (?:a|an))\b",
    re.IGNORECASE,
)


def people_changes(statement: Statement) -> Iterator[StateChange]:
    if statement.asks or _NOT_NOW.search(statement.text):
        return
    for read in (_location, _mood, _injuries, _healing, _goal, _outfit):
        yield from read(statement)


def _each(statement: Statement, end: int, field: str, value: str, *, ends: bool = False) -> Iterator[StateChange]:
    if value or ends:
        for person in subjects(statement, end):
            yield StateChange(person, "character", field, value, ends)


# Where

_GOES = re.compile(
    r"\b(?:(?:arriv(?:es|ed|e)(?: back)? (?:at|in))|reach(?:es|ed)?|enter(?:s|ed)?|(?:walks?|walked|goes|go|went|gone|"
    r"runs?|ran|rides?|rode|drives?|drove|heads?|headed|returns?|returned|comes?|came|travel(?:s|led|ed)?|climb(?:s|"
    r"ed)?|steps?|stepped|slips?|slipped|sneaks?|sneaked|snuck|sails?|sailed|flees|fled|hurr(?:ies|ied|y)|moves?|moved|"
    r"strides?|strode|wanders?|wandered|limps?|limped|crawls?|crawled|stumbles?|stumbled|rush(?:es|ed)|march(?:es|ed)|"
    r"trudges?|trudged|makes? (?:her|his|my|their|your) way|made (?:her|his|my|their|your) way)(?: back| down| up| out|"
    r" over| home)? (?:in|on)?to)\s+"
)
_STAYS = re.compile(
    r"(?:\b(?:is|am|are|was|were)|['’](?:s|m|re))(?: now| back| still| already| here| sitting| standing| waiting|"
    r" hiding| kneeling| sleeping| staying| camping| working)* (?P<where>in|at|inside|aboard|outside)\s+|\b(?:sits|sat|"
    r"stands|stood|waits|waited|hides|hid|kneels|knelt|stays|stayed|sleeps|slept|camps|camped|lands|"
    r"landed) (?:down )?(?P<stood>in|at|inside|aboard|outside)\s+"
)
# Things within a room, and what is no place at all.
_NO_PLACE = frozenset(
    """door doorway window table desk chair bed floor wall fire hearth fireplace side feet foot knee edge middle back
    front way ground corner counter shelf end top bottom moment silence love trouble pain danger peace hurry need time
    morning evening night day mind heart hand arm face eye head lap voice mess mood total sight view sleep work rest
    least last first line bar mirror stove sink couch sofa surface light dark darkness rain snow cold shock awe charge
    agreement surprise conclusion point stop halt decision stranger man woman figure person people group crowd truth
    place life shape step chest bag box drawer pocket""".split()
)
_NO_PLACES = frozenset(map(stem, _NO_PLACE))


def _location(statement: Statement) -> Iterator[StateChange]:
    for pattern in (_GOES, _STAYS):
        for match in pattern.finditer(statement.text):
            if not statement.narrated and not _is_present(match[0], statement.text[: match.start()]):
                continue
            place = noun_phrase(statement.text, match.end())
            if _is_place(place, statement):
                yield from _each(statement, match.start(), "location", bare(place) if not is_name(place) else place)


def _is_present(verb: str, before: str) -> bool:
    """In speech, a past tense tells of what is over, unless it is "have arrived" or "just got to"."""
    return bool(
        re.match(r"['’]|(?:is|am|are)\b", verb)
        or re.search(r"(?:\b(?:have|has|just|finally|now)|['’]ve)(?: \w+)?\s*$", before)
    )


def _is_place(phrase: str, statement: Statement) -> bool:
    words = phrase.split()
    if not words or stem(words[-1].casefold()) in _NO_PLACES or statement.cast.person(phrase):
        return False
    return is_name(phrase) or words[0].casefold() in ("the", "a", "an", "her", "his", "my", "their", "your", "our")


# How

_MOODS = """
angry furious enraged annoyed irritated upset sad unhappy miserable heartbroken depressed gloomy melancholy lonely
grieving happy glad delighted overjoyed cheerful joyful content excited thrilled elated relieved hopeful calm
relaxed peaceful nervous anxious worried uneasy tense afraid scared frightened terrified panicked horrified shocked
stunned confused bewildered curious suspicious jealous envious ashamed guilty embarrassed proud tired exhausted
weary bored frustrated disappointed desperate determined bitter resentful disgusted amused grateful numb restless
overwhelmed stressed homesick nostalgic shy smug flustered devastated"""
_MOOD = re.compile(
    r"(?:\b(?:is|am|are|was|were|feels?|felt|looks?|looked|seems?|seemed|sounds?|sounded|grows?|grew|gets?|got|"
    r"becomes?|became)|['’](?:s|m|re))(?P<how>(?: (?:so|very|really|quite|too|a bit|a little|still|now|deeply|truly|"
    r"terribly|more|clearly|rather|feeling|getting|pretty|visibly|extremely|completely|absolutely|no longer|not))*) "
    rf"(?P<mood>{'|'.join(_MOODS.split())})\b(?! (?:(?:of|for|at|with|that|to (?:hear|see|know|have)) )?(?:you|that)\b)"
    r"(?! to (?:hear|see|know|meet)\b)",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:no longer|not)\b")


def _mood(statement: Statement) -> Iterator[StateChange]:
    for match in _MOOD.finditer(statement.text):
        denied = _DENIED.search(match["how"])
        if denied is None or "no longer" in denied[0]:
            yield from _each(statement, match.start(), "mood", match["mood"].lower(), ends=denied is not None)


# Hurt and healed

_BODY = (
    r"(?:(?:left|right|upper|lower) )?(?:arms?|legs?|hands?|foot|feet|head|shoulders?|knees?|ankles?|wrists?|fingers?|"
    r"palms?|back|ribs?|eyes?|ears?|nose|neck|chest|hip|thumb|toes?|elbow|thigh|side|face|jaw|stomach|belly|wing|tail)"
)
_OWN = r"(?:her|his|my|your|their|its)"
_HARM = r"(?:wounded|injured|hurt|bleeding|limping|bruised|burned|burnt|poisoned|stabbed|shot|maimed|concussed)"
_HARMED = re.compile(
    rf"(?:\b(?:is|am|are|was|were|gets?|got|been)|['’](?:s|m|re|ve been))(?: \w+ly| now| still|"
    rf" also)* (?P<harm>{_HARM}(?: (?:in|on|at|from|through) (?:{_OWN}|the|a|an) {_BODY})?)\b"
)
_BREAKS = {
    "broke": "broken", "breaks": "broken", "broken": "broken", "twisted": "twisted", "twists": "twisted",
    "sprained": "sprained", "sprains": "sprained", "cut": "cut", "cuts": "cut", "burned": "burned", "burnt": "burnt",
    "burns": "burned", "injured": "injured", "injures": "injured", "hurt": "hurt", "hurts": "hurt",
    "fractured": "fractured", "dislocated": "dislocated", "bruised": "bruised",
}  # fmt: skip
_INJURES = re.compile(rf"\b(?P<verb>{'|'.join(_BREAKS)}) (?:{_OWN}|the) (?P<part>{_BODY})\b")
_PART_IS = re.compile(
    rf"\b(?P<whose>{_OWN}|[^\W\d_a-z][\w-]*['’]s?) (?P<part>{_BODY})"
    r"(?: (?:is|was|are|were|has been|have been)| got|['’]s)(?: \w+ly| now| still| all)* (?P<harm>broken|bleeding|"
    r"wounded|injured|hurt|bruised|burned|burnt|sprained|twisted|cut|swollen|infected|fractured|dislocated|bandaged|"
    r"in a sling|in a cast)\b",
    re.IGNORECASE,
)
_WOUND = re.compile(
    rf"\b(?P<wound>(?:a|an|the) (?:[\w-]+ )?(?:wound|gash|cut|bruise|burn|bite|scratch) (?:in|on|across|to|along|"
    rf"down) (?P<whose>{_OWN}|[^\W\d_a-z][\w-]*['’]s?) {_BODY})\b"
)
_HAS_WOUND = re.compile(
    rf"\b(?:has|have|had|suffers|suffered)(?: got)? (?P<wound>a (?:broken|sprained|twisted|fractured|wounded|bruised|"
    rf"dislocated|swollen|burned|cut|deep|bad|bleeding) (?:{_BODY}|wound|cut|gash|burn))\b"
)
_FAILED = re.compile(r"\b(?:not|never|nearly|almost)\b|n['’]t\b")


def _injuries(statement: Statement) -> Iterator[StateChange]:
    text = statement.text
    for match in (*_HARMED.finditer(text), *_HAS_WOUND.finditer(text)):
        found = match.groupdict()
        yield from _each(statement, match.start(), "injuries", bare(found.get("harm") or found.get("wound") or ""))
    for match in _INJURES.finditer(text):
        yield from _each(statement, match.start(), "injuries", f"{_BREAKS[match['verb']]} {match['part']}")
    for pattern in (_PART_IS, _WOUND):
        for match in pattern.finditer(text):
            if not _FAILED.search(text[: match.end()]):
                found = match.groupdict()
                value = bare(match["wound"]) if "wound" in found else f"{match['harm']} {match['part']}".lower()
                yield from _of_owner(statement, match, value)


def _of_owner(statement: Statement, match: re.Match[str], value: str, *, ends: bool = False) -> Iterator[StateChange]:
    for person in person_meant(match["whose"], statement, match.start("whose")):
        yield StateChange(person, "character", "injuries", value, ends)


_HEALS = (
    r"(?:(?:has|have|is|are|was|were|had)(?: now| finally| been| \w+ly)* )?(?:healed|mended|recovered|cured|better now|"
    r"well again|heals|mends)"
)
_PART_HEALS = re.compile(
    rf"\b(?P<whose>{_OWN}|[^\W\d_a-z][\w-]*['’]s?) (?P<part>{_BODY}|wounds?|injury|injuries|bruises?|"
    rf"burns?) {_HEALS}\b",
    re.IGNORECASE,
)
_PERSON_HEALS = re.compile(
    r"\b(?:(?:healed|recovered|cured)(?= (?:from|now|at last|completely|fully)|[.,!;]|$)|back on (?:her|his|my) feet)"
)
_IS_HEALED = re.compile(
    r"\b(?:heals|healed|cures|cured|mends|mended)\s+(?P<whose>(?:her|his|my|your)|[^\W\d_a-z][\w'’-]*)"
)
_WHOLE = re.compile(r"wound|injur", re.IGNORECASE)


def _healing(statement: Statement) -> Iterator[StateChange]:
    text = statement.text
    if _FAILED.search(text):
        return
    for match in _PART_HEALS.finditer(text):
        yield from _of_owner(statement, match, "" if _WHOLE.match(match["part"]) else match["part"], ends=True)
    for match in _PERSON_HEALS.finditer(text):
        yield from _each(statement, match.start(), "injuries", "", ends=True)
    for match in _IS_HEALED.finditer(text):
        part = re.match(rf"\s+({_BODY})\b", text[match.end() :])
        yield from _of_owner(statement, match, part[1] if part else "", ends=True)


# What they want, what they wear

_WANTS = re.compile(
    r"\b(?:(?:wants?|wanted|needs?|needed|intends?|intended|plans?|planned|hopes?|hoped|aims?|longs?|vows?|vowed|"
    r"swears|swore|(?:is|am|are|was|were) (?:trying|determined|planning|hoping|desperate))|['’](?:m|s|re) (?:trying|"
    r"determined|planning|hoping|desperate)) to\s+"
)
_SEEKS = re.compile(
    r"(?:\b(?:is|am|are|was|were)|['’](?:m|s|re)) (?P<goal>(?:now |still )?(?:looking|searching|hunting) for\s+)|"
    r"\b(?P<seeks>seeks|searches for|hunts for)\s+"
)
_IDLE = re.compile(
    r"^(?:be|say|know|hear|ask|tell|thank|see|talk|speak|eat|drink|sleep|rest|sit|laugh|cry|scream|smile|go to (?:bed|"
    r"sleep)|do (?:it|that|this|so)|make sure|have|get|try|look|think|believe|feel|stay|leave|come|share|show|add|"
    r"mention|understand|remember|check|let|keep|give it|take it|hug|kiss|touch)\b",
    re.IGNORECASE,
)
LEAST_GOAL = 2  # words of meaning


def _goal(statement: Statement) -> Iterator[StateChange]:
    for match in _WANTS.finditer(statement.text):
        goal = clause_from(statement.text, match.end())
        if len(content_words(goal) - VAGUE) >= LEAST_GOAL and not _IDLE.match(goal):
            yield from _each(statement, match.start(), "goal", goal)
    for match in _SEEKS.finditer(statement.text):
        sought = clause_from(statement.text, match.end())
        if sought:
            verb = (match["goal"] or match["seeks"]).strip()
            yield from _each(statement, match.start(), "goal", f"{verb} {sought}")


_WEARS = re.compile(
    r"\b(?:wears|wore|(?:is|am|are|was|were) (?:now )?(?:wearing|dressed in|clad in)|puts? on|pulls? on|pulled on|dons|"
    r"donned|chang(?:es|ed) into)\s+|['’](?:m|s|re) (?:wearing|dressed in)\s+"
)
_DISGUISED = re.compile(r"\b(?P<as>disguised (?:herself |himself |myself |yourself )?as)\s+")
_TAKES_OFF = re.compile(
    r"\b(?:takes? off|took off|taken off|removes|removed|sheds|pulls? off|pulled off|slips? out of|slipped out of|"
    r"throws off|threw off|drops)\s+"
)
_NOT_WORN = re.compile(
    r"\b(?:smile|frown|expression|look|show|face|brave|grin|weight|music|kettle|light|lights|hand|hands|brakes|voice|"
    r"act|air|plane|lid|water)$",
    re.IGNORECASE,
)
_DISGUISE = frozenset("disguise clothes costume outfit uniform everything".split())


def _outfit(statement: Statement) -> Iterator[StateChange]:
    for match in _WEARS.finditer(statement.text):
        worn = bare(noun_phrase(statement.text, match.end()))
        if worn and not _NOT_WORN.search(worn):
            yield from _each(statement, match.start(), "outfit", worn)
    for match in _DISGUISED.finditer(statement.text):
        part = noun_phrase(statement.text, match.end())
        yield from _each(statement, match.start(), "outfit", f"disguised as {part}" if part else "")
    for match in _TAKES_OFF.finditer(statement.text):
        shed = bare(noun_phrase(statement.text, match.end()))
        if shed and not _NOT_WORN.search(shed):
            all_of_it = shed.casefold().split()[-1] in _DISGUISE
            yield from _each(statement, match.start(), "outfit", "" if all_of_it else shed, ends=True)
