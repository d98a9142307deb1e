"""What statements claim of what people do: their trade, where they work, what they study. Pure."""

import re
from collections.abc import Iterator

from apps.memories.claims.claim import (
    NOTHING,
    PREPOSITION,
    Claim,
    Words,
    after,
    before,
    claim,
    content,
    negated,
    phrases,
)
from apps.memories.lexicon import members, stem, verbs
from apps.memories.wording import Clause

OCCUPATIONS = members("occupation") | content(
    """officer lieutenant superintendent king queen mage druid bard paladin wizard witch spy thief innkeeper developer
    designer programmer paramedic barista firefighter councillor surveyor vet head intern instructor pilot"""
)
_IS = re.compile(r"\b(?:is|am|are) (?:now |still )?(?:(?:a|an|the) )?(?P<role>(?:[\w-]+ )?(?:[\w-]+ )?[\w-]+)")
_WORKS_AS = re.compile(rf"\b{verbs('work, serve')} as (?:a |an |the )?(?P<role>[\w-]+(?: [\w-]+)?)")
_WORKS_AT = phrases(
    r"(?:work|works|working|teach|teaches|teaching|serves|employed) (?:(?!on\b)\S+ ){0,3}?(?:at|for|in|by)",
    "has worked (?:at|for|in)",
)
_JOB = "(?:job|position|post|role|practice)"
_BUSINESS = "(?:shop|store|bakery|restaurant|studio|practice|business|firm|company|caf[eé]|salon|school|clinic|agency)"
_BONDS = "(?:friends|lovers|enem|rivals|allies|ill|sick|pregnant|a (?:father|mother|parent))"
_BECAME = phrases(
    verbs(
        """become, train as, qualify as, retrain as, join the staff of, be promoted to, be demoted to, be hired as, be
        hired by, get hired by, get hired as, be appointed, be made, be elected, be crowned"""
    )
    + rf"\b(?! {_BONDS}| (?:of|from|out|by|up|in)\b)",
    rf"(?:got|has|started|took|takes|accepted|found|landed) (?:a |an |the |\S+'s )?(?:\w+ )?{_JOB} (?:as|at|with|in)",
    verbs("open, set up, launch, found, start") + rf" (?:a|an|\S+'s)(?: own)?(?= (?:\w+ ){{0,2}}?{_BUSINESS}\b)",
    verbs("run, own, manage") + rf" (?:a|an|\S+'s own)(?= (?:\w+ ){{0,2}}?{_BUSINESS}\b)",
    "(?:started?|starts|began|begins) (?:(?:work|working|teaching) (?:as|at|for)|at|as)|went freelance",
    "is self-employed",
)
_OWN_BUSINESS = phrases("own|freelance|self-employed")
_UNEMPLOYED = phrases(
    "quit|resigned|retired|fired|sacked|laid off|unemployed|out of work|jobless|made redundant|between jobs",
    rf"let go(?= by|$)|(?:lost|left|gave up|leaving) \S+ {_JOB}",
)
_ROLE, _PLACE = frozenset(["role"]), frozenset(["place"])


def read_work(clause: Clause) -> Iterator[Claim]:
    if not negated(clause):
        yield from _trade(clause)
        place = _WORKS_AT.search(clause.text)
        if place:
            yield claim(clause, "work", before(clause, place), after(clause, place), thing=_PLACE)
    ended = _UNEMPLOYED.search(clause.text)
    if ended:
        yield claim(clause, "work", before(clause, ended), frozenset(["none"]), moves=True)


def _trade(clause: Clause) -> Iterator[Claim]:
    works_as, became, match = (pattern.search(clause.text) for pattern in (_WORKS_AS, _BECAME, _IS))
    if works_as:
        yield claim(clause, "work", before(clause, works_as), content(works_as["role"]), thing=_ROLE)
    elif became:
        things = (_ROLE, _PLACE) if _OWN_BUSINESS.search(clause.text) else (_ROLE,)
        for thing in things:
            yield claim(clause, "work", before(clause, became), after(clause, became), thing=thing, moves=True)
    elif match:
        yield from _is_of_a_trade(clause, match)


def _is_of_a_trade(clause: Clause, match: re.Match[str]) -> Iterator[Claim]:
    """A nurse, a nurse at the harbour; not the captain of anything in particular."""
    trades = [word for word in PREPOSITION.split(match["role"])[0].split() if stem(word) in OCCUPATIONS]
    if not trades or match["role"].endswith((" of", " to")):
        return
    yield claim(clause, "work", before(clause, match), content(trades[-1]), thing=_ROLE)
    at = re.search(r"\b(?:at|for) (?P<place>.*)", clause.text[match.start("role") :])
    if at:
        yield claim(clause, "work", before(clause, match), content(at["place"]), thing=_PLACE)


_STUDIES = phrases(
    verbs("study, major in, read"), r"(?:enrolled|enrols|enrolls) (?:in|at)", r"(?P<what>\w+) (?:student|major)"
)
_SCHOOL = (
    r"(?:kindergarten|preschool|nursery|daycare|(?:first|second|third|\d+) grade|"
    r"(?:elementary|primary|middle|secondary|high|law|medical|graduate|grad) school|college|university)"
)
_ANY_SCHOOL = frozenset(["school"])
_AT_SCHOOL = phrases(
    rf"(?:is|am|are|goes|go|went|started?|starts|attends?|entered) (?:(?:in|at|to|the) )*(?={_SCHOOL}$)"
)
_SWITCHES = phrases(
    verbs("switch, transfer, change") + r"(?: \S+'s (?:major|course|degree))? to",
    verbs("graduate, drop out, flunk out"),
    verbs("finish, complete, earn, get") + r" (?:a |the |\S+'s )?(?:\w+ )?(?:degree|studies|diploma|phd|doctorate)",
)


def read_studies(clause: Clause) -> Iterator[Claim]:
    switches, studies, school = (pattern.search(clause.text) for pattern in (_SWITCHES, _STUDIES, _AT_SCHOOL))
    if switches:
        value = after(clause, switches) or frozenset(["done"])
        for thing in (NOTHING, _ANY_SCHOOL):
            yield claim(clause, "study", before(clause, switches), value, thing=thing, moves=True)
    elif school and not negated(clause):
        level = frozenset([clause.text[school.end() :]])
        yield claim(clause, "study", before(clause, school), level, thing=_ANY_SCHOOL)
    elif studies and not negated(clause):
        subject: Words = content(studies["what"] or "")
        yield claim(clause, "study", before(clause, studies) - subject, subject or after(clause, studies))
