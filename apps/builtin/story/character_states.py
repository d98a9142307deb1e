"""Find changes of people's location, mood, injuries, goal and outfit in a sentence. Without database access.

Only the present counts: past, planned, denied and hypothetical events change nothing.
"""

import re
from collections.abc import Iterator

from apps.builtin.reading.phrases import noun_phrase, without_determiner
from apps.builtin.reading.statements import Statement, resolve_person, subjects
from apps.builtin.story.state_changes import StateChange
from apps.builtin.story.threads import find_goal
from apps.english.lexicon import stem

FieldMatches = Iterator[tuple[int, str, str, bool]]  # (start of the verb, field, value, whether the value is removed)
_NOT_PRESENT = re.compile(
    r"\b(?:usually|often|always|never|every|sometimes|used to|once|ago|last|yesterday|when (?:i|he|she) was|as a child|"
    r"in (?:19|20)\d\d|years?|tomorrow|next|would|will|remember(?:s|ed)?|like (?:a|an)|by nature|at heart|generally|"
    r"in general|whenever|rarely|seldom|as a person)\b",
    re.IGNORECASE,
)
_DENIED = re.compile(r"\b(?:not|never|nearly|almost)\b|n['’]t\b")
_BE = r"(?:\b(?:is|am|are|was|were|has been|have been|got)|['’](?:s|m|re|ve been))"
_ARRIVES = re.compile(
    r"\b(?:arriv(?:es?|ed)(?: back)? (?:at|in)|reach(?:es|ed)?|enter(?:s|ed)?|(?:walk\w*|goes?|went|gone|came|comes?|"
    r"r[au]ns?|rode|rides?|dr[io]ves?|head\w*|return\w*|travel\w*|climb\w*|step\w*|slip\w*|sail\w*|fle[ed]s?|hurr\w+|"
    r"moved?|limp\w*|ma[kd]es? \w+ way)(?: back| down| up| out| over| home)? (?:in|on)?to)\s+|"
    rf"(?:{_BE}|\b(?:sits|sat|stands|stood|waits|waited|sleeps|slept))(?: now| back| still| already| here| \w+ing)* "
    r"(?:in|at|inside|aboard|outside)\s+"
)
# Furniture, parts of a room and figures of speech that follow "to" or "at" without being a location.
_NOT_PLACES = frozenset(
    map(
        stem,
        """door doorway window table desk chair bed floor wall fire hearth side feet edge middle front way hands arms
        ground corner end top bottom line mirror sight point conclusion moment morning evening night""".split(),
    )
)
_MOOD = re.compile(
    r"(?:\b(?:is|am|are|was|were|feels?|felt|looks?|looked|seems?|seemed|grows?|grew|bec[ao]mes?)|['’](?:s|m|re))"
    r"(?P<how>(?: (?:no longer|not|so|very|really|quite|too|a bit|a little|still|now|\w+ly))*) "
    r"(?P<mood>angry|furious|annoyed|upset|sad|unhappy|miserable|heartbroken|lonely|happy|glad|cheerful|excited|relieved|"
    r"hopeful|calm|nervous|anxious|worried|afraid|scared|frightened|terrified|horrified|confused|suspicious|jealous|ashamed|"
    r"guilty|embarrassed|proud|exhausted|desperate|bitter|grateful)\b"
    r"(?! (?:(?:of|for|at|with|that) )?(?:you|that)\b)(?! to (?:hear|see|know|meet|have)\b)",
    re.IGNORECASE,
)
# What somebody fears, or is like, at all times: "I'm afraid of heights", "She is calm and kind".
_FEARFUL = frozenset("afraid scared frightened terrified".split())
_OBJECT = re.compile(r" of ", re.IGNORECASE)
_TRAITS = frozenset("anxious bitter calm cheerful happy hopeful jealous nervous proud suspicious".split())
_COPULA = re.compile(r"(?:is|am|are|['’](?:s|m|re))\b", re.IGNORECASE)
_OF_THE_MOMENT = re.compile(
    r"\b(?:now|today|tonight|still|so|very|too|suddenly|at (?:the|this) moment|because|about|after|that)\b",
    re.IGNORECASE,
)
_BODY = (
    r"(?:(?:left|right) )?(?:arms?|legs?|hands?|foot|feet|head|shoulders?|knees?|ankles?|wrists?|fingers?|palms?|back|"
    r"ribs?|eyes?|neck|chest|hip|side|face|wing|tail)"
)
_OWN = "(?:her|his|my|your|their|the)"
_WHOSE = r"\b(?P<whose>her|his|my|your|their|its|[^\W\d_a-z][\w-]*['’]s?)"
_HARM = r"(?:wounded|injured|hurt|bleeding|bruised|burned|burnt|poisoned|stabbed|broken|sprained|twisted|cut|swollen)"
_HARMED = re.compile(rf"{_BE}(?: \w+ly| now| still)* (?P<value>{_HARM}(?: (?:in|on|at|through) {_OWN} {_BODY})?)\b")
_INJURES = re.compile(rf"\b(?P<harm>broke|twisted|sprained|cut|burned|injured|hurt|bruised) {_OWN} (?P<part>{_BODY})\b")
_PART_IS = re.compile(rf"{_WHOSE} (?P<part>{_BODY}) ?{_BE}(?: \w+ly| now| still)* (?P<harm>{_HARM})\b", re.IGNORECASE)
_PART_HEALS = re.compile(
    rf"{_WHOSE} (?P<part>{_BODY}|wounds?|injur(?:y|ies)|cuts?|burns?)(?: (?:has|have|is|are|was|were)"
    r"(?: now| finally| been| \w+ly)*)? (?:healed|mended|heals|mends)\b",
    re.IGNORECASE,
)
_IS_HEALED = re.compile(rf"\b(?:heals|healed|cures|cured)\s+{_WHOSE}(?: (?P<part>{_BODY}))?\b")
_WEARS = re.compile(
    r"(?:\b(?:wears|wore|dons|donned|(?:is|am|are|was|were) (?:now )?(?:wearing|dressed in)|p(?:ut|ull)(?:s|ed)? "
    r"on|chang(?:es|ed) into)|['’](?:m|s|re) (?:wearing|dressed in))\s+(?=(?:a|an|her|his|my|their|your) )|"
    r"\b(?=disguised (?:\w+self )?as\s)"
)
_TAKES_OFF = re.compile(r"\b(?:takes? off|took off|removes|removed|sheds|pull(?:s|ed) off|slip(?:s|ped) out of)\s+")
_NOT_WORN = re.compile(
    r"\b(?:smile|frown|expression|look|face|grin|weight|show|kettle|lights?|music|key)$", re.IGNORECASE
)


def character_changes(statement: Statement) -> Iterator[StateChange]:
    """Yield the changes of people's fields that a sentence reports."""
    if statement.is_question or _NOT_PRESENT.search(statement.text):
        return
    text = statement.text
    for start, field, value, removes in (
        *_locations(statement),
        *_conditions(text, spoken=not statement.narrated),
        *_outfits(text),
    ):
        for person in subjects(statement, start) if value or removes else ():
            yield StateChange(person, "character", field, value, removes)
    for pattern, removes in ((_PART_IS, False), (_PART_HEALS, True), (_IS_HEALED, True)):
        for match in () if _DENIED.search(text) else pattern.finditer(text):
            part = match["part"] or ""
            value = re.sub(r"(?:wound|injur)\w*", "", part) if removes else f"{match['harm']} {part}".lower()
            for person in resolve_person(match["whose"], statement, match.start("whose")):
                yield StateChange(person, "character", "injuries", value, removes)


def _locations(statement: Statement) -> FieldMatches:
    text = statement.text
    for match in _ARRIVES.finditer(text):
        place = noun_phrase(text, match.end())
        name = without_determiner(place)[:1].isupper()
        # In speech, the past tense is not the present, except in "have arrived" or "just got to".
        present = statement.narrated or re.match(r"['’]|(?:is|am|are)\b", match[0])
        present = present or re.search(
            r"(?:\b(?:have|has|just|finally|now)|['’]ve)(?: \w+)?\s*$", text[: match.start()]
        )
        known = (name or without_determiner(place) != place) and not statement.people.full_name(place)
        if present and known and stem(place.casefold().split()[-1]) not in _NOT_PLACES:
            yield match.start(), "location", place if name else without_determiner(place), False


def _is_trait(match: re.Match[str], text: str, *, spoken: bool) -> bool:
    """Return whether a word of mood says what somebody is like, or fears, at all times, not how they feel now."""
    mood = match["mood"].lower()
    if mood in _FEARFUL:
        return bool(_OBJECT.match(text, match.end()))
    return spoken and mood in _TRAITS and bool(_COPULA.match(match[0])) and not _OF_THE_MOMENT.search(text)


def _conditions(text: str, *, spoken: bool) -> FieldMatches:
    """Yield moods, injuries and goals."""
    for match in _MOOD.finditer(text):
        removes = "no longer" in match["how"]
        if removes or not ("not" in match["how"].split() or _is_trait(match, text, spoken=spoken)):
            yield match.start(), "mood", match["mood"].lower(), removes
    for match in _HARMED.finditer(text):
        yield match.start(), "injuries", match["value"], False
    for match in _INJURES.finditer(text):
        yield match.start(), "injuries", f"{match['harm'].replace('broke', 'broken')} {match['part']}", False
    if goal := find_goal(text):
        yield goal[0], "goal", goal[1], False


def _outfits(text: str) -> FieldMatches:
    for pattern, removes in ((_WEARS, False), (_TAKES_OFF, True)):
        for match in pattern.finditer(text):
            rest = text[match.end() :]
            disguise = re.match(r"disguised (?:\w+self )?as\s+", rest)
            worn = noun_phrase(rest, disguise.end() if disguise else 0)
            if worn and not _NOT_WORN.search(worn):
                yield match.start(), "outfit", f"disguised as {worn}" if disguise else without_determiner(worn), removes
