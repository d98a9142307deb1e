"""Find changes of carried items and of known objects, places and factions in a sentence. Without database access."""

import re
from collections.abc import Iterator

from apps.builtin.reading.phrases import noun_phrase, without_determiner
from apps.builtin.reading.statements import Statement, resolve_person, subjects
from apps.builtin.story.state_changes import StateChange
from apps.english.lexicon import stem

_UNREAL = re.compile(
    r"\b(?:not|never|nearly|almost|used to|if|unless|would|will|might|could|should|wish\w*|hop(?:e|es|ed))\b|n['’]t\b|"
    r"['’]ll\b",
    re.IGNORECASE,
)
# Only these count as carried, because one can also "take" a step, a breath or a train.
_PORTABLE = frozenset(
    map(
        stem,
        """sword dagger knife blade key lantern torch book letter map ring amulet bag coin purse bow shield staff scroll
        box rope gun phone bottle potion ledger""".split(),
    )
)
_TAKES = re.compile(
    r"\b(?:takes?|took|pick(?:s|ed) up|grabs|grabbed|pocketed|carries|(?:is|am|are) carrying|has|holds)\s+"
)
_LOSES = re.compile(r"\b(?:drops?|dropped|loses|lost|thr[eo]ws? away|leaves behind|left behind|sells|sold)\s+")
_GIVES = re.compile(r"\b(?:gives?|gave|hands?|handed|pass(?:es|ed)?|lends?|lent|returns|returned)\s+")
_NAME = r"[^\W\d_a-z][\w'’-]*"
_TO = re.compile(rf"\s+(?:back )?(?:over )?to (?P<who>me|you|him|her|{_NAME})\b(?! \w+ing)")
_WHOM = re.compile(rf"(?P<who>me|you|him|her|{_NAME})\s+(?=(?:the|a|an|his|her|my|your|their)\b)")
_IT = re.compile(r"it\b")

_IS = r"\s*(?:is|was|are|were|has been|lies|hangs|stands)(?: now| still| \w+ly)* "
# (type, field, pattern of the text after the entity's name); the value is the group, else the next noun phrase.
_AFTER_NAME = [
    (kind, field, re.compile(pattern))
    for kind, field, pattern in (
        ("object", "condition", _IS + r"(?P<value>broken|shattered|cracked|damaged|destroyed|torn|burn(?:ed|t)|"
                                r"repaired|mended|stolen|lost|missing|empty|locked|sealed|poisoned|cursed)\b"),
        ("object", "location", _IS + r"(?:hidden |buried |kept )?(?P<where>in|on|under|behind|inside|beneath|at) (?="
                               r"the |an? |her |his |my )"),
        ("object", "owner", r"\s*belongs (?:now )?to "),
        ("place", "hazards", _IS + r"(?P<value>on fire|burning|flooded|haunted|cursed|under attack|under siege)\b"),
        ("place", "control", rf"(?:{_IS}(?:ruled|controlled|held|taken|captured|conquered) by|\s*(?:fell|falls) to) "),
        ("place", "occupants", _IS + r"(?:occupied by|inhabited by|full of|crowded with) "),
        ("faction", "leadership", _IS + r"(?:led|commanded|headed|ruled|run) by "),
        ("faction", "alliances", r"\s*(?:(?:is|are|has|have)(?: now)? )?(?:allied|made peace|joined forces) with "),
        ("faction", "objective", r"\s*(?:wants?|plans?|intends?|aims?) to (?P<value>[^.,;:!?]{5,120})"),
    )
]  # fmt: skip
_PUTS = re.compile(
    r"(?<!to )\b(?:puts?|hides|hid|leaves|left|bur(?:ies|ied)|lock(?:s|ed)|places|stored)\s+(?:\w+\s+)?$"
)
_WHERE = re.compile(r"\s*(?:away )?(?P<where>in|into|on|under|behind|inside|beneath)\s+")
# Type: (field, pattern of the text before the entity's name); the value is the subject of the verb.
_BEFORE_NAME = {
    "object": ("owner", re.compile(r"\b(?:owns|bought|inherited|inherits)\s+(?:the|a|an)?\s*$")),
    "faction": (
        "leadership",
        re.compile(
            r"\b(?:leads|commands|(?:is|became|was made) (?:\w+ ){0,2}(?:leader|captain|head|chief) of)\s+(?:the )?$"
        ),
    ),
}


def thing_changes(statement: Statement) -> Iterator[StateChange]:
    """Yield the changes of carried items and of known entities that a sentence names."""
    if statement.is_question or _UNREAL.search(statement.text):
        return
    yield from _carried_changes(statement)
    for name, kind in statement.people.kinds.items():
        match = re.search(rf"(?<!\w){re.escape(name)}(?!\w)", statement.text, re.IGNORECASE)
        for field, value in _known_entity_changes(statement, kind, match) if match else ():
            if value:
                yield StateChange(name, kind, field, value.strip())


def _carried_changes(statement: Statement) -> Iterator[StateChange]:
    """Yield the items that people take, lose or give away, in the order of the verbs."""
    text = statement.text
    verbs = [(match, pattern) for pattern in (_TAKES, _LOSES, _GIVES) for match in pattern.finditer(text)]
    for match, pattern in sorted(verbs, key=lambda pair: pair[0].start()):
        start = match.start()
        gives = pattern is _GIVES
        receiver = _WHOM.match(text, match.end()) if gives else None
        begin = receiver.end() if receiver else match.end()
        pronoun = _IT.match(text, begin) if gives else None
        item = _antecedent(text, start) if pronoun else noun_phrase(text, begin)
        # In speech, the past tense is not the present.
        past = not statement.narrated and match[0].startswith(("took", "picked", "grabbed"))
        if past or not any(stem(word) in _PORTABLE for word in item.casefold().split()[1:]):
            continue
        receiver = receiver or (_TO.match(text, pronoun.end() if pronoun else begin + len(item)) if gives else None)
        for person in subjects(statement, start):
            yield StateChange(person, "character", "carried", without_determiner(item), removes=pattern is not _TAKES)
            for taker in resolve_person(receiver["who"], statement, start) if receiver else ():
                if taker != person:
                    yield StateChange(taker, "character", "carried", without_determiner(item))


def _antecedent(text: str, end: int) -> str:
    """Return the referent of "it": the first thing taken earlier in the sentence; empty if there is none."""
    return next((noun_phrase(text, match.end()) for match in _TAKES.finditer(text, 0, end)), "")


def _known_entity_changes(statement: Statement, kind: str, named: re.Match[str]) -> Iterator[tuple[str, str]]:
    """Yield (field, value) from the words before and after the match of an entity's name."""
    before, rest = statement.text[: named.start()], statement.text[named.end() :]
    for entity_kind, field, pattern in _AFTER_NAME:
        match = pattern.match(rest) if entity_kind == kind else None
        if match:
            groups, phrase = match.groupdict(), noun_phrase(rest, match.end())
            if field == "owner":
                phrase = next(iter(resolve_person(phrase.split()[0], statement, named.end())), "") if phrase else ""
            yield field, groups.get("value") or (f"{groups['where']} {phrase}" if groups.get("where") else phrase)
    put_match = _WHERE.match(rest) if kind == "object" and _PUTS.search(before) else None
    if put_match and (where := noun_phrase(rest, put_match.end())):
        yield "location", f"{put_match['where']} {where}"
    field, pattern = _BEFORE_NAME.get(kind, ("", _PUTS))
    match = pattern.search(before) if field else None
    for person in subjects(statement, match.start())[:1] if match else ():
        yield field, person
