"""What statements claim of people: where they live, what they do, how old they are, how they look. Pure."""

import re
from collections.abc import Iterator

from apps.memories.claims.claim import Claim, after, before, claim, content, negated, owners, people
from apps.memories.lexicon import members, stem, verbs
from apps.memories.wording import Clause

_HOUSING = r"(?:house|flat|apartment|cottage|farm|condo|houseboat|boat|tent|caravan|trailer|tower|hut|cabin|shack|castle|mansion|penthouse|bungalow|studio|villa|cabin|home|place|manor|room|loft|attic)"
_LIVES = re.compile(
    r"\b" + verbs("live, reside, dwell, lodge, sleep") + r" (?:\S+ ){0,4}?(?:in|at|on|above|outside|near|with)\b|"
    r"\b" + verbs("live") + r"(?= (?:next|alone|here|there|abroad|nearby|across|opposite|downstairs|upstairs|off)\b)|"
    r"\b" + verbs("have, make") + r" \S+ home (?:in|at|on|among|near)\b|"
    r"\bhome is(?: now)?(?: in| at)?\b|"
    r"\b(?:is|am|are) (?:based|staying|living|settled|housed|quartered|stationed) (?:in|at|on|above|outside|with)\b|"
    rf"\b(?:is|am|are) (?:still )?(?:in|at) (?=(?:\S+ ){{0,3}}{_HOUSING}\b)|"
    r"\b" + verbs("rent, share, occupy") + rf" (?:(?:a|an|the) )?(?:\S+ ){{0,2}}?(?={_HOUSING}\b)|"
    rf"\b(?:has|have) (?:a|an|the) (?:\S+ ){{0,2}}?(?={_HOUSING}\b)|\b{_HOUSING} is (?:in|on|at)\b"
)
_MOVES = re.compile(
    r"\b"
    + verbs("move, relocate, emigrate")
    + r"(?: back| out| over| house| home| north| south| away| abroad)? (?:to|into|in to|in with|in at|in|from \S+ to)\b|"
    r"\b" + verbs("settle") + r" (?:down )?(?:in|at|on|among|near|by)\b|"
    r"\b" + verbs("move") + r" (?=out\b|aboard\b|away\b|abroad\b)|"
    r"\b" + verbs("make") + r" (?:\S+ )?home in\b|"
    r"\b"
    + verbs("buy, get, find, build, take, inherit, lease, rent")
    + rf" (?=(?:\S+ ){{0,4}}{_HOUSING}\b)(?:(?:a|an|the|\S+'s) )?|"
    r"\b"
    + verbs("take up residence, set up home, put down roots, find lodging, find lodgings")
    + r" (?:in|at|with)\b|\bnew home is(?: in)?\b"
)


def read_home(clause: Clause) -> Iterator[Claim]:
    lives, moves = _LIVES.search(clause.text), _MOVES.search(clause.text)
    match = moves or lives
    if (
        match is None
        or _past(clause, match)
        or re.search(r"\b(?:used to|once|grew up|stay(?:s|ing)? for)\b", clause.text)
    ):
        return
    subject = before(clause, match)
    # "Tom moved the key to the drawer" is no change of home.
    if match.end() < len(clause.text) and subject and not negated(clause):
        who = frozenset(word.removesuffix("'s") for word in subject) if subject == owners(subject) else subject
        yield claim(clause, "home", who - frozenset(["home"]), after(clause, match), moves=moves is not None)


def _past(clause: Clause, match: re.Match[str]) -> bool:
    """Whether it is told of the past only: "lived", without "has" before it."""
    return match[0].startswith(("lived", "resided", "slept")) and not re.search(
        r"\b(?:has|have)\b", clause.text[: match.start()]
    )


_RANKS = content(
    "officer lieutenant superintendent king queen mage druid bard paladin wizard witch spy thief innkeeper developer designer "
    "programmer paramedic barista firefighter councillor surveyor vet head intern instructor"
)
_STUDIES = re.compile(
    r"\b"
    + verbs("study, major in, read")
    + r"\b|\b(?:enrolled|enrols|enrolls) (?:in|at)\b|\b(?P<what>\w+) (?:student|major)\b"
)
_SWITCHES = re.compile(
    r"\b(?:"
    + verbs("switch, transfer, change")
    + r"(?: \S+'s (?:major|course|degree))? to|"
    + verbs("graduate, drop out, flunk out")
    + r"|"
    + verbs("finish, complete, earn, get")
    + r" (?:a |the |\S+'s )?(?:\w+ )?(?:degree|studies|diploma|phd|doctorate))\b"
)


def read_studies(clause: Clause) -> Iterator[Claim]:
    switches, studies = _SWITCHES.search(clause.text), _STUDIES.search(clause.text)
    if switches:
        yield claim(
            clause, "study", before(clause, switches), after(clause, switches) or frozenset(["done"]), moves=True
        )
    elif studies and not negated(clause):
        value = content(studies["what"]) if studies["what"] else after(clause, studies)
        yield claim(clause, "study", before(clause, studies) - content(studies["what"] or ""), value)


OCCUPATIONS = members("occupation") | _RANKS
_DOES = re.compile(r"\b(?:is|am|are) (?:now |still )?(?:(?:a|an|the) )?(?P<role>(?:[\w-]+ )?(?:[\w-]+ )?[\w-]+)")
_WORKS_AS = re.compile(r"\b" + verbs("work, serve") + r" as (?:a |an |the )?(?P<role>[\w-]+(?: [\w-]+)?)")
_WORKS_AT = re.compile(
    r"\b(?:work|works|working|teaches|teach|teaching|serves|is employed|am employed|employed) (?:\S+ ){0,3}?(?:at|for|in|by)\b|"
    r"\bhas worked (?:at|for|in)\b"
)
_BECAME = re.compile(
    r"\b"
    + verbs(
        "become, train as, qualify as, retrain as, be promoted to, be demoted to, be hired as, be hired by, be appointed, be made, be elected, "
        "be crowned, join the staff of"
    )
    + r"\b(?! (?:friends|lovers|enem|rivals|allies|ill|sick|pregnant|a (?:father|mother|parent)))|"
    r"\b(?:got|has|started|took|takes|accepted|found|landed) (?:a |an |the |\S+'s )?(?:\w+ )?(?:job|position|post|role) (?:as|at|with|in)\b|"
    r"\b"
    + verbs("open, set up, launch, found, start")
    + r" (?:a|an|\S+'s)(?: own)?(?= (?:\w+ ){0,2}?(?:shop|store|bakery|restaurant|studio|practice|"
    r"business|firm|company|cafe|salon|school|clinic|agency)\b)|"
    r"\b(?:went freelance|is self-employed|(?:start(?:ed|s)?|began|begins) (?:(?:work|working|teaching) (?:as|at|for)|at|as))\b"
)
_OWN_BUSINESS = re.compile(r"\bown\b|\bfreelance\b|\bself-employed\b")
_UNEMPLOYED = re.compile(
    r"\b(?:quit|resigned|retired|fired|sacked|laid off|unemployed|out of work|jobless|made redundant|let go(?= by|$)|between jobs|"
    r"(?:lost|left|gave up|leaving) \S+ (?:job|post|position|practice))\b"
)


def read_work(clause: Clause) -> Iterator[Claim]:
    works_as, became, does = (pattern.search(clause.text) for pattern in (_WORKS_AS, _BECAME, _DOES))
    if works_as and not negated(clause):
        yield _role(clause, works_as, content(works_as["role"]))
    elif became and not negated(clause):
        yield _role(clause, became, after(clause, became), moves=True)
        if _OWN_BUSINESS.search(clause.text):
            yield claim(
                clause, "work", before(clause, became), after(clause, became), thing=frozenset(["place"]), moves=True
            )
    elif does and not negated(clause):
        trades = [word for word in does["role"].split() if stem(word) in OCCUPATIONS]
        if trades and not re.search(r"\b(?:of|to)$", does["role"]):
            yield _role(clause, does, content(trades[-1]))
            at = re.search(r"\b(?:at|for) ", clause.text[does.start("role") :])
            if at:
                where = content(clause.text[does.start("role") + at.end() :])
                yield claim(clause, "work", before(clause, does), where, thing=frozenset(["place"]))
    place, ended = _WORKS_AT.search(clause.text), _UNEMPLOYED.search(clause.text)
    if place and not negated(clause):
        yield claim(clause, "work", before(clause, place), after(clause, place), thing=frozenset(["place"]))
    if ended:
        yield claim(clause, "work", before(clause, ended), frozenset(["none"]), moves=True)


def _role(clause: Clause, match: re.Match[str], role: frozenset[str], *, moves: bool = False) -> Claim:
    return claim(clause, "work", before(clause, match), role, thing=frozenset(["role"]), moves=moves)


_AGE = re.compile(
    r"\b(?:is|am|turned|turns|are|aged|turning) (?P<age>\d{1,3})(?= years? old|$| now| already| (?:yesterday|today|last|this|in|on))|"
    r"\b(?P<birthday>\d{1,3}) birthday\b"
)


def read_age(clause: Clause) -> Iterator[Claim]:
    match = _AGE.search(clause.text)
    if match and not re.search(r"\bfor \S+'s \d+ birthday\b", clause.text):
        subject = content(re.split(r"\b(?:celebrated?|celebrates|had|has|marked)\b", clause.text[: match.start()])[0])
        yield claim(clause, "age", subject - frozenset(["turn"]), frozenset([match["age"] or match["birthday"]]))


_WEARS = re.compile(
    r"\b(?:"
    + verbs("wear, be dressed in, sport")
    + r"|dressed in|in (?:a|an|the) (?=\w+ (?:dress|suit|gown|robe|cloak)\b))\b"
)
_CHANGES_CLOTHES = re.compile(r"\b" + verbs("change into, slip into, switch to, dress in, put on") + r"\b")


def read_clothes(clause: Clause) -> Iterator[Claim]:
    changes, wears = _CHANGES_CLOTHES.search(clause.text), _WEARS.search(clause.text)
    match = changes or wears
    if match and not negated(clause):
        yield claim(clause, "clothes", before(clause, match), after(clause, match), moves=changes is not None)


_LOOKS = content("hair beard eyes moustache mustache")
_GROOMED = content("cut dyed has wears grew shaved off coloured crop cropped trim bleach braid long short")
_CHANGED = re.compile(r"\b" + verbs("cut, dye, shave, grow, crop, trim, bleach, colour, color, chop, lose") + r"\b")


def read_looks(clause: Clause) -> Iterator[Claim]:
    words = content(clause.text)
    if words & _LOOKS:
        changed = _CHANGED.search(clause.text) is not None
        whose = people(clause)
        value = words - _LOOKS - owners(clause.words) - whose - (_GROOMED if changed else content("has wears is"))
        if value or changed:
            value = value | frozenset(["changed"]) if changed else value
            yield claim(clause, "looks", whose, value, thing=words & _LOOKS, moves=changed)
