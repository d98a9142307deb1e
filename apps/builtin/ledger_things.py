"""What a sentence tells of things, places and factions: who has them, how they are, who rules them. Pure."""

import re
from collections.abc import Iterator

from apps.builtin.ledger_changes import StateChange
from apps.builtin.phrases import bare, noun_phrase
from apps.builtin.statements import Statement, person_meant, subjects
from apps.memories.wording import content_words, stem

_NOT_SO = re.compile(
    r"\b(?:not|never|nearly|almost|used to|if|unless|would|will|might|could|should|wish\w*|hop(?:e|es|ed))\b|n['’]t\b|"
    r"['’]ll\b",
    re.IGNORECASE,
)


def thing_changes(statement: Statement) -> Iterator[StateChange]:
    if statement.asks or _NOT_SO.search(statement.text):
        return
    yield from _carried(statement)
    readers = {"object": _object, "place": _place, "faction": _faction}
    for name, kind in statement.cast.kinds.items():
        found = (
            re.search(rf"(?<!\w){re.escape(name)}(?!\w)", statement.text, re.IGNORECASE) if kind in readers else None
        )
        if found:
            yield from readers[kind](statement, name, found)


# What people carry

# What can be carried, so that nobody carries a step, a breath or a train.
_PORTABLE = frozenset(
    map(
        stem,
        """sword dagger knife blade key lantern torch book letter map ring amulet necklace bag satchel bottle potion
        coin purse bow quiver shield staff wand scroll box gem stone rope gun pistol rifle phone umbrella
        basket flute lute medallion pendant crown compass spear axe hammer flask vial journal diary
        photograph parcel package envelope backpack suitcase wallet mask herb lockpick candle cup crystal
        orb locket brooch crossbow sack pouch notebook ticket passport laptop camera guitar violin""".split(),
    )
)
_TAKES = re.compile(
    r"\b(?:takes?|took|picks? up|picked up|grabs?|grabbed|pockets|pocketed|carr(?:y|ies|ied)|(?:is|am|are|"
    r"was) carrying|receives|received|finds|found|steals|stole|keeps|has|have|holds)\s+"
)
_LOSES = re.compile(
    r"\b(?:drops?|dropped|loses|lost|throws? away|threw away|puts? down|put down|sets? down|lays? down|laid down|"
    r"leaves behind|left behind|hides|buries|buried|breaks|sells|sold)\s+"
)
_GIVES = re.compile(r"\b(?:gives?|gave|hands?|handed|pass(?:es|ed)?|lends?|lent|sells|sold|returns|returned)\s+")
_TO = re.compile(r"\s+(?:back )?(?:over )?to (?P<who>me|you|him|her|[^\W\d_a-z][\w'’-]*)\b(?! \w+ing)")
_IT = re.compile(r"it\b")
_WHOM = re.compile(r"(?P<who>me|you|him|her|[^\W\d_a-z][\w-]*)\s+(?=(?:the|a|an|his|her|my|your|their|this|that)\b)")


def _carried(statement: Statement) -> Iterator[StateChange]:
    text = statement.text
    given = {match.start(): match for match in _GIVES.finditer(text)}
    kept = {match.start(): match for pattern in (_TAKES, _LOSES) for match in pattern.finditer(text)}
    for start, match in sorted((kept | given).items()):
        if start in given:
            yield from _handed_over(statement, match)
        elif _is_portable(thing := noun_phrase(text, match.end())):
            over = not statement.narrated and re.match(r"took|found|carried|picked|grabbed|stole", match[0])
            for person in () if over else subjects(statement, start):
                ends = bool(_LOSES.match(text, start))
                yield StateChange(person, "character", "carried", bare(thing), ends)


def _handed_over(statement: Statement, match: re.Match[str]) -> Iterator[StateChange]:
    text = statement.text
    whom = _WHOM.match(text, match.end())
    start = whom.end() if whom else match.end()
    it = _IT.match(text, start)
    thing = _taken_before(text, match.start()) if it else noun_phrase(text, start)
    whom = whom or _TO.match(text, it.end() if it else start + len(thing))
    if not _is_portable(thing):
        return
    for giver in subjects(statement, match.start()):
        yield StateChange(giver, "character", "carried", bare(thing), ends=True)
        for taker in person_meant(whom["who"], statement, match.start()) if whom else ():
            if taker != giver:
                yield StateChange(taker, "character", "carried", bare(thing))


def _taken_before(text: str, end: int) -> str:
    """What "it" stands for: the thing that the same sentence took up before."""
    return next((noun_phrase(text, match.end()) for match in _TAKES.finditer(text, 0, end)), "")


def _is_portable(phrase: str) -> bool:
    words = phrase.casefold().split()
    return bool(words) and any(stem(word) in _PORTABLE for word in words[-1:] + words[1:2] if len(words) > 1)


# Things of the registry

_CONDITION = re.compile(
    r"^\s*(?:is|was|lies|has been|are|were|['’]s)(?: now| already| \w+ly)* (?P<how>broken|shattered|cracked|damaged|"
    r"destroyed|ruined|rusty|bent|torn|burned|burnt|repaired|mended|restored|sharpened|stolen|lost|missing|glowing|"
    r"empty|full|locked|sealed|open|poisoned|cursed|enchanted|in pieces|out of order)\b|^\s*(?P<breaks>breaks|broke|"
    r"shatters|shattered|cracks|cracked|snaps|snapped|glows)\b"
)
_DOES = {"breaks": "broken", "broke": "broken", "shatters": "shattered", "cracks": "cracked", "snaps": "snapped"}
_DONE_TO = re.compile(
    r"(?<!to )\b(?P<how>broke|shattered|cracked|destroyed|repaired|mended|restored|sharpened|burned|damaged)\s+(?:the|"
    r"her|his|my|their|your)?\s*$"
)
_BELONGS = re.compile(r"^\s*belongs (?:now )?to (?P<who>me|you|[^\W\d_a-z][\w'’-]*)")
_OWNS = re.compile(r"\b(?:owns|bought|inherited|inherits)\s+(?:the|a|an)?\s*$")
_LIES = re.compile(
    r"^\s*(?:is|lies|hangs|stands|rests|sits|was|is hidden|is buried|is kept|is locked)(?: now| still)* (?P<where>in|"
    r"on|under|behind|inside|beneath|at)\s+"
)
_PUTS = re.compile(
    r"(?<!to )\b(?:puts?|hides|hid|leaves|left|buries|buried|locks|locked|places|placed|stores|stored|drops|"
    r"dropped)\s+(?:the|her|his|my|their|your)?\s*$"
)
_PUT_WHERE = re.compile(r"^\s*(?:away )?(?P<where>in|into|on|under|behind|inside|beneath|at)\s+")


def _object(statement: Statement, name: str, found: re.Match[str]) -> Iterator[StateChange]:
    before, rest = statement.text[: found.start()], statement.text[found.end() :]
    if state := _CONDITION.match(rest):
        yield StateChange(name, "object", "condition", state["how"] or _DOES.get(state["breaks"], state["breaks"]))
    if done := _DONE_TO.search(before):
        yield StateChange(name, "object", "condition", "broken" if done["how"] == "broke" else done["how"])
    belongs, owns = _BELONGS.match(rest), _OWNS.search(before)
    owners = person_meant(belongs["who"], statement, found.end()) if belongs else ()
    owners = owners or (subjects(statement, owns.start()) if owns else ())
    if owners:
        yield StateChange(name, "object", "owner", owners[0])
    place = _LIES.match(rest) or (_PUT_WHERE.match(rest) if _PUTS.search(before) else None)
    where = noun_phrase(rest, place.end()) if place else ""
    if place and where and where.casefold() not in ("danger", "pieces", "place", "time"):
        yield StateChange(name, "object", "location", f"{place['where']} {where}")


# Places

_HAZARD = re.compile(
    r"^\s*(?:is|was|are|were|has been|['’]s)(?: now| \w+ly)* (?P<hazard>on fire|burning|flooded|haunted|cursed|trapped|"
    r"under attack|under siege|besieged|collapsing|infested with [\w-]+|crawling with [\w-]+|guarded by [\w -]+)"
)
_SAFE = re.compile(
    r"^\s*(?:is|was) (?:now )?(?:safe|cleared|free of|no longer)\b|(?:fire|siege|curse|flood)s? (?:is|was) (?:out|over|"
    r"lifted)"
)
_OCCUPANTS = re.compile(
    r"^\s*(?:is|was) (?:now )?(?:occupied by|inhabited by|full of|packed with|home to|crowded with)\s+"
)
_RULED = re.compile(
    r"^\s*(?:is|was|has been) (?:now )?(?:ruled|controlled|held|taken|captured|conquered|occupied|seized) by\s+|"
    r"^\s*(?:fell|falls|has fallen|surrendered) to\s+"
)
_CONQUERS = re.compile(
    r"(?P<who>(?:[Tt]he )?[^\W\d_a-z][\w'’-]*(?: [^\W\d_a-z][\w'’-]*){0,3})(?: now| have| has)? (?:captured|seized|"
    r"conquered|took|controls?|rules?|holds?|occup(?:y|ied|ies))\s+(?:the )?$"
)


def _place(statement: Statement, name: str, found: re.Match[str]) -> Iterator[StateChange]:
    before, rest = statement.text[: found.start()], statement.text[found.end() :]
    if hazard := _HAZARD.match(rest):
        yield StateChange(name, "place", "hazards", hazard["hazard"])
    elif _SAFE.search(rest):
        yield StateChange(name, "place", "hazards", "", ends=True)
    for field, match in (("occupants", _OCCUPANTS.match(rest)), ("control", _RULED.match(rest))):
        phrase = noun_phrase(rest, match.end()) if match else ""
        if phrase:
            yield StateChange(name, "place", field, phrase)
    if ruler := _CONQUERS.search(before):
        yield StateChange(name, "place", "control", ruler["who"])


# Factions

_LED = re.compile(r"^\s*(?:is|was) (?:now )?(?:led|commanded|headed|ruled|run) by\s+")
_LEADS = re.compile(
    r"\b(?:leads?|led|commands?|heads?|took command of|takes command of|(?:is|became|becomes|was made|"
    r"was elected) (?:now )?(?:the )?(?:new )?(?:leader|captain|head|master|commander|chief|queen|king|president|"
    r"guildmaster) of)\s+(?:the )?$"
)
_ALLIED = re.compile(
    r"^\s*(?:(?:is|are|have|has)(?: now)? )?(?:allied|made peace|joined forces|signed a treaty|"
    r"formed an alliance) with\s+"
)
_AT_WAR = re.compile(r"^\s*(?:(?:is|are)(?: now)? at war|broke|breaks|declared war|went to war) (?:with|on|against)\s+")
_AIM = re.compile(
    r"^\s*(?:wants?|plans?|seeks?|intends?|means|aims?|is planning|are planning) to (?P<aim>[^.,;:!?]{5,120})"
)


def _faction(statement: Statement, name: str, found: re.Match[str]) -> Iterator[StateChange]:
    before, rest = statement.text[: found.start()], statement.text[found.end() :]
    led, leads = _LED.match(rest), _LEADS.search(before)
    leaders = (noun_phrase(rest, led.end()),) if led else subjects(statement, leads.start()) if leads else ()
    if leaders and leaders[0]:
        yield StateChange(name, "faction", "leadership", leaders[0])
    for match, ends in ((_ALLIED.match(rest), False), (_AT_WAR.match(rest), True)):
        other = noun_phrase(rest, match.end()) if match else ""
        if other and content_words(other):
            yield StateChange(name, "faction", "alliances", bare(other), ends)
    if aim := _AIM.match(rest):
        yield StateChange(name, "faction", "objective", aim["aim"].strip())
