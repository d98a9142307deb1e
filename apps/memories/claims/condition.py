"""What statements claim of how people are: alive, well, and with whom. Pure."""

import re
from collections.abc import Iterator

from apps.memories.claims.claim import Claim, before, claim, content, owners, people
from apps.memories.lexicon import members, verbs
from apps.memories.wording import Clause

_PARTNERS = [
    (
        "apart",
        r"\b(?:divorced?|separated|"
        + verbs("break up, split up, file for divorce, part ways, go their separate ways, call it quits")
        + r"|broken up|ex-(?:wife|husband|boyfriend|girlfriend)|(?:are|is) over|"
        + verbs("leave, dump, jilt, divorce")
        + r" (?:(?:\S+'s )?(?:husband|wife|boyfriend|girlfriend|fianc\S+)|%(name)s)$|"
        + verbs("end, break off")
        + r" (?:things with|(?:the|\S+'s) (?:relationship|engagement|marriage|affair))|"
        + verbs("leave")
        + r" \S+ for|annulled)\b",
    ),
    (
        "married",
        r"\b(?:"
        + verbs("marry, remarry, wed, elope, tie the knot, get hitched")
        + r"|newlyweds?|honeymoon|exchanged (?:\w+ )?(?:vows|rings)|"
        r"said (?:\S+ )?vows|walked down the aisle|became (?:husband and wife|\S+'s (?:wife|husband))|(?:wife|husband|spouse)(?: is|$)|"
        r"(?:is|am|are) \S+'s (?:wife|husband|spouse)|(?:has|have) a (?:wife|husband))\b",
    ),
    (
        "engaged",
        r"\b(?:engaged(?! in)|fianc[eé]e?|betrothed|proposed (?:to|and)|said yes|accepted \S+ proposal|popped the question)\b",
    ),
    (
        "single",
        r"\b(?:single|no (?:partner|husband|wife|boyfriend|girlfriend)|not (?:seeing|dating) (?:anyone|anybody)|unmarried|bachelor|unattached|on \S+ own again|swore off (?:dating|love|men|women))\b",
    ),
    ("widowed", r"\b(?:widow(?:ed|er)?|" + verbs("bury, lose") + r" \S+'s (?:wife|husband|spouse|fianc\S+))\b"),
    (
        "dating",
        r"\b(?:"
        + verbs("date")
        + r"|seeing|going out|girlfriend(?: is|$)|boyfriend(?: is|$)|(?:has|have) a (?:new )?(?:boyfriend|girlfriend)|"
        r"(?:is|am|are) (?:\S+'s (?:girl|boy)friend|together|a couple|an item)|in a relationship|started seeing|courting|sweethearts?)\b",
    ),
]


def read_partner(clause: Clause) -> Iterator[Claim]:
    for status, pattern in _PARTNERS:
        names = "|".join(map(re.escape, clause.names)) or "(?!)"
        match = re.search(pattern.replace("%(name)s", f"(?:{names})"), clause.text)
        if match:
            is_not = status != "single" and bool(re.search(r"\b(?:not|never|no)\b", clause.text[: match.start()]))
            value = ("single" if status in ("married", "dating", "engaged") else "married") if is_not else status
            yield claim(clause, "partner", _partners(clause, match), frozenset([value]), moves=status == "apart")
            return


def _partners(clause: Clause, match: re.Match[str]) -> frozenset[str]:
    """Whose bond it is; kin and owners stay, so that a brother's is not one's own."""
    subject = before(clause, match)
    behind = content(clause.text[match.end() :])
    found = subject & (people(clause) | owners(clause.words) | members("person"))
    return found | (behind & people(clause)) if clause.words[-1] in clause.names else found or behind & people(clause)


_DEAD = re.compile(
    r"\b(?:"
    + verbs("die, drown, be killed, pass away, be murdered, be executed, perish, be hanged, be slain")
    + r"|dead|killed|murdered|hanged|passed away)\b"
)
_ALIVE = re.compile(
    r"\b(?:alive|survived|lives on|still lives|came back to life|resurrected|revived|faked \S+ (?:own )?death|living (?:in|at|under|as|with)|"
    r"never died|did not die|still breathing|risen from the dead|rose from the dead)\b"
)


def read_life(clause: Clause) -> Iterator[Claim]:
    dead, alive = _DEAD.search(clause.text), _ALIVE.search(clause.text)
    match = alive or dead
    if match:
        is_dead = (alive is None) != bool(re.search(r"\b(?:not|never)\b(?! died?)", clause.text))
        who = before(clause, match)
        who = who - content("find found see saw meet met")
        yield claim(clause, "life", who, frozenset(["dead" if is_dead else "alive"]), moves=True)


_BODY = members("body") | content("rib collarbone hand eye head back nose jaw")
_HURT = re.compile(
    (
        r"\b(?:wound(?:s|ed)?|injur\w+|hurts?|"
        + verbs("sprain, bleed, bruise, limp, fracture, dislocate, concuss, strain, pull a muscle")
        + r"|recovering from|(?:has|have|had|having|caught|suffers from|suffering from|down with|ill with|sick with) (?:a |an |the )?(?:\w+ )?(?:%(illness)s)|"
        r"(?:burne?[dt]?|broken|swollen|bandaged|sore|bruised|infected|bleeding|injured|dying|bitten|cracked|aching|aches|in pain|killing \S+|crushed|sprained|fractured|dislocated|maimed)(?= |$)|(?:a|the) (?:deep |bad )?(?:cut|gash)|fever(?:ish)?|sick|(?:is|am|are|was|been|fell|seriously) ill|(?:a|the|terrible|bad) cold|flu|infection|infected|"
        r"poisoned|stitches|concussion|paraly[sz]ed|crutches|in a (?:cast|sling|coma)|pneumonia|migraine|unconscious|bedridden|in hospital|"
        r"in the hospital|wheelchair|cough(?:s|ing)?|"
        + verbs("break, twist, cut, burn")
        + r" (?:\S+ )?(?:left |right )?(?:arm|leg|hand|foot|palm|wrist|ankle|ribs?|nose|"
        r"shoulder|finger|knee|collarbone|neck|toe|elbow|hip|jaw)|(?:arm|leg|hand|foot|wrist|ankle|ribs?|nose|finger|toe|collarbone) is broken)\b"
    ).replace(
        "%(illness)s", "|".join(sorted(members("illness") | {"chickenpox", "measles", "mumps", "fever", "covid"}))
    )
)
_WELL = re.compile(
    r"\b(?:"
    + verbs("heal, close over, be cured, cure, mend, knit, fade, close up")
    + verbs("get over, shake off, beat, overcome").join(
        (r"|", r" (?:the|a|an|\S+'s) (?:\w+ )?(?:cold|flu|fever|illness|infection|cancer|pneumonia|injury|wound|cough)")
    )
    + r"|has closed(?: up| over)?(?= |$)|(?:no|not a) (?:trace|sign|mark) (?:of|left)|scarred over|(?:got|getting|gets|is|much|all) (?:well|better)(?= |$)|"
    r"(?:full|the) use of|fit as|fighting fit|stopped (?:bleeding|limping|hurting|coughing)|spots gone|antidote|has healed|"
    r"(?:stitches|bandages?|cast|splint|sling) (?:came|come|coming) off|recovere?d?s?\b(?!ing)|up and about|healthy|well again|fine again|better now|feel(?:s|ing)? (?:fine|great|better|well|good)|good as new|over (?:the|a|\S+'s) (?:cold|flu|fever|illness)|"
    r"(?:fever|cold|flu|cough|pain|infection|swelling|illness) (?:has |had |is |was )?(?:broken?|broke|gone|over|passed|left|subsided|cleared(?: up)?|lifted)|is gone|is over|"
    r"without (?:a |the |any |\S+'s )?(?:\w+ )?(?:limp|pain|crutches|cane|bandage)|pain-free|took off the (?:cast|bandages?|sling)|"
    r"(?:cast|stitches|bandages?|splint|sling) (?:came|is|are|come|has come|was|were) (?:off|out|removed)|back on \S+ feet|(?:scar|pink line)|"
    r"all clear|in remission|full strength|fully fit|awoke|regained consciousness|discharged|walks? (?:freely|unaided|again))\b"
)
_TRACES = re.compile(r"\b(?:scar|pink line)\b")


def read_health(clause: Clause) -> Iterator[Claim]:
    hurt, well = _HURT.search(clause.text), _WELL.search(clause.text)
    parts = content(clause.text) & _BODY
    if not (hurt or (well and (parts or clause.names or members("illness") & content(clause.text)))):
        return
    if well and _TRACES.fullmatch(well[0]) and not parts:
        return
    is_well = (well is not None) != bool(re.search(r"\b(?:not|never)\b", clause.text))
    value = frozenset(["well" if is_well else "hurt"])
    yield claim(clause, "health", people(clause), value, thing=parts, moves=is_well)
