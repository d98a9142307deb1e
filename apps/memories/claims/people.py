"""What statements claim of people: where they live, what they do, whom they are with, how they are. Pure."""

import re
from collections.abc import Iterator

from apps.memories.claims.claim import (
    Claim,
    Words,
    after,
    before,
    claim,
    content,
    negated,
    owners,
)
from apps.memories.wording import Clause, stem

_LIVES = re.compile(r"\b(?:live[sd]?|living|resides?|dwells?) (?:\w+ )?(?:in|at|on)\b|\bhome is(?: now)?(?: in| at)?\b")
_MOVES = re.compile(
    r"\b(?:moved|moves|moving|relocated)(?: back| out| over| house)? (?:to|into|in to|in with|in at)\b|"
    r"\bsettled (?:down )?(?:in|at|on)\b|\brents? (?:a |an )?(?:room|flat|house|apartment) (?:in|at|on)\b"
)


def read_home(clause: Clause) -> Iterator[Claim]:
    lives, moves = _LIVES.search(clause.text), _MOVES.search(clause.text)
    match = moves or lives
    if match is None or _past(clause, match) or re.search(r"\b(?:used to|once|grew up)\b", clause.text):
        return
    subject = before(clause, match)
    # "Tom moved the key to the drawer" is no change of home.
    if match.end() < len(clause.text):
        yield claim(clause, "home", subject, after(clause, match), moves=moves is not None)


def _past(clause: Clause, match: re.Match[str]) -> bool:
    """Whether it is told of the past only: "lived", without "has" before it."""
    return match[0].startswith("lived") and not re.search(r"\b(?:has|have)\b", clause.text[: match.start()])


PROFESSIONS = frozenset(
    """teacher doctor nurse baker pilot sailor captain clerk lawyer engineer writer soldier general farmer smith
    blacksmith cook chef waiter waitress student apprentice merchant guard priest monk nun king queen knight thief
    singer painter artist actor actress driver carpenter mason miner fisherman hunter healer surgeon professor
    librarian scientist programmer developer designer manager director president mayor judge detective officer
    journalist photographer musician dancer surveyor superintendent lieutenant spy assassin mercenary vet dentist
    architect accountant plumber electrician mechanic gardener tailor weaver butcher innkeeper barista intern
    firefighter paramedic therapist councillor senator minister ambassador bard wizard witch mage druid
    paladin""".split()
)
_PROFESSION = "|".join(sorted(PROFESSIONS))
_DOES = re.compile(rf"\b(?:is|am|are) (?:now |still )?(?:a |an |the )?(?:[\w-]+ )?(?P<role>{_PROFESSION})\b")
_WORKS_AS = re.compile(r"\bwork(?:s|ed|ing)? as (?:a |an |the )?(?P<role>[\w-]+(?: [\w-]+)?)")
_WORKS_AT = re.compile(r"\bwork(?:s|ing)? (?:at|for|in)\b|\bhas worked (?:at|for|in)\b|\bemployed (?:at|by)\b")
_BECAME = re.compile(
    r"\b(?:became|becomes|become|promoted to|hired as|(?:got|has|started|took) (?:a |the )?(?:\w+ )?job (?:as|"
    r"at|with|in)|"
    r"start(?:ed|s)? (?:work|working) (?:as|at|for))\b"
)
_UNEMPLOYED = re.compile(
    r"\b(?:quit|resigned|retired|fired|sacked|laid off|unemployed|out of work|"
    r"(?:lost|left|gave up|leaving) \S+ (?:job|post|position))\b"
)


def read_work(clause: Clause) -> Iterator[Claim]:
    for pattern, moves in ((_WORKS_AS, False), (_DOES, False), (_BECAME, True)):
        match = pattern.search(clause.text)
        if match and not negated(clause):
            value = after(clause, match) if moves else content(match["role"])
            yield claim(clause, "work", before(clause, match), value, thing=frozenset(["role"]), moves=moves)
    place, ended = _WORKS_AT.search(clause.text), _UNEMPLOYED.search(clause.text)
    if place and not negated(clause):
        yield claim(clause, "work", before(clause, place), after(clause, place), thing=frozenset(["place"]))
    if ended:
        yield claim(clause, "work", before(clause, ended), frozenset(["none"]), moves=True)


_PARTNERS = [
    ("apart", re.compile(r"\b(?:divorced?|separated|broke up|broken up|split up|left (?:\S+'s )?(?:husband|wife))\b")),
    ("married", re.compile(r"\b(?:married|marries|wife is|husband is)\b")),
    ("engaged", re.compile(r"\b(?:engaged|fianc[eé]e?)\b")),
    ("single", re.compile(r"\b(?:single|unmarried)\b")),
    ("widowed", re.compile(r"\b(?:widow(?:ed|er)?)\b")),
    (
        "dating",
        re.compile(
            r"\b(?:dating|seeing|girlfriend is|boyfriend is|(?:has|have) a (?:boyfriend|girlfriend)|"
            r"in a relationship)\b"
        ),
    ),
]


def read_partner(clause: Clause) -> Iterator[Claim]:
    for status, pattern in _PARTNERS:
        match = pattern.search(clause.text)
        if match:
            value = "single" if status == "married" and negated(clause) else status
            yield claim(clause, "partner", before(clause, match) & _people(clause), frozenset([value]))
            return


def _people(clause: Clause) -> Words:
    """Names, possessives and kin, as subjects have them."""
    kin = "brother sister mother father son daughter aunt uncle cousin friend husband wife dog cat horse pony".split()
    return frozenset(stem(name) for name in clause.names) | content(" ".join(kin)) | owners(clause.words)


_DEAD = re.compile(r"\b(?:died|dies|dead|drowned|killed|passed away|murdered|executed|perished|hanged)\b")
_ALIVE = re.compile(r"\b(?:alive|survived|lives on|still lives|came back to life)\b")


def read_life(clause: Clause) -> Iterator[Claim]:
    dead, alive = _DEAD.search(clause.text), _ALIVE.search(clause.text)
    match = alive or dead
    if match:
        is_dead = (alive is None) != bool(re.search(r"\b(?:not|never)\b", clause.text))
        yield claim(clause, "life", before(clause, match), frozenset(["dead" if is_dead else "alive"]), moves=True)


_BODY = frozenset(
    """arm leg hand foot head shoulder knee ankle wrist finger palm back rib eye ear nose neck chest hip thumb toe
    elbow thigh side face jaw tooth""".split()
)
_ILLNESS = frozenset("fever flu cold cough infection limp illness poison burn concussion headache pneumonia".split())
_HURT = re.compile(
    r"\b(?:wound(?:s|ed)?|injur\w+|hurts?|sprained|bleed(?:s|ing)|bruised?|(?:a|the) (?:deep |bad )?(?:cut|"
    r"gash)|fever|sick|"
    r"(?:is|am|are|was|been|fell|seriously) ill|flu|infection|infected|poisoned|limp(?:s|ing|ed)?|stitches|"
    r"concussion|paraly[sz]ed|crutches|in a cast|fractured?|"
    r"(?:broke|broken|twisted|cut|burn(?:ed|t)) (?:\S+ )?(?:left |right )?(?:arm|leg|hand|foot|palm|wrist|ankle|"
    r"ribs?|nose|"
    r"shoulder|finger|knee|collarbone|neck|toe))\b"
)
_WELL = re.compile(
    r"\b(?:heal(?:s|ed)?|recover(?:s|ed)?|cured|healthy|well again|fine again|better now|is gone|is over|mended|"
    r"without (?:a |the )?limp|took off the (?:cast|bandages?)|(?:cast|stitches|bandages?) (?:came|is|are|"
    r"come) (?:off|out)|"
    r"back on \S+ feet|(?:scar|pink line))\b"
)


def read_health(clause: Clause) -> Iterator[Claim]:
    hurt, well = _HURT.search(clause.text), _WELL.search(clause.text)
    parts = content(clause.text) & (_BODY | _ILLNESS)
    if not (hurt or (well and (parts or clause.names))):
        return
    is_well = (well is not None) != bool(re.search(r"\b(?:not|never)\b", clause.text))
    people = frozenset(stem(name) for name in clause.names) | {word[:-2] for word in owners(clause.words)}
    value = frozenset(["well" if is_well else "hurt"])
    yield claim(clause, "health", people, value, thing=parts & _BODY, moves=is_well)


_AGE = re.compile(
    r"\b(?:is|am|turned|turns|are) (?P<age>\d{1,3})(?= years? old|$| now| already| (?:yesterday|today|last|this))"
)


def read_age(clause: Clause) -> Iterator[Claim]:
    match = _AGE.search(clause.text)
    if match:
        yield claim(clause, "age", before(clause, match), frozenset([match["age"]]))


_LOOKS = content("hair beard eyes moustache")


def read_looks(clause: Clause) -> Iterator[Claim]:
    words = content(clause.text)
    if words & _LOOKS:
        people = frozenset(stem(name) for name in clause.names) | {word[:-2] for word in owners(clause.words)}
        value = words - _LOOKS - owners(clause.words) - people - content("cut dyed has wears grew shaved off coloured")
        if value or re.search(r"\b(?:cut|dyed|shaved|grew)\b", clause.text):
            yield claim(clause, "looks", people, value or frozenset(["changed"]), thing=words & _LOOKS)
