"""What statements claim of life and health: dead or alive, hurt or well. Pure."""

import re
from collections.abc import Iterator

from apps.memories.claims.claim import Claim, before, claim, content, people, phrases
from apps.memories.lexicon import members, verbs
from apps.memories.wording import Clause

_DEAD = phrases(
    verbs("die, drown, be killed, pass away, be murdered, be executed, perish, be hanged, be slain"),
    "dead|killed|murdered|hanged|passed away",
)
_ALIVE = phrases(
    "alive|survived|lives on|still lives|came back to life|resurrected|revived|still breathing|never died|did not die",
    r"faked \S+ (?:own )?death|living (?:in|at|under|as|with)|(?:risen|rose) from the dead",
)
_SEEN = content("find see meet")


def read_life(clause: Clause) -> Iterator[Claim]:
    dead, alive = _DEAD.search(clause.text), _ALIVE.search(clause.text)
    match = alive or dead
    if match:
        is_dead = (alive is None) != bool(re.search(r"\b(?:not|never)\b(?! died?)", clause.text))
        who = before(clause, match) - _SEEN
        yield claim(clause, "life", who, frozenset(["dead" if is_dead else "alive"]), moves=True)


_BODY = members("body") | content("rib collarbone hand eye head back nose jaw")
_ILLNESS = "|".join(sorted(members("illness") | {"chickenpox", "measles", "mumps", "fever", "covid"}))
_LIMB = (
    "(?:arm|leg|hand|foot|palm|wrist|ankle|ribs?|nose|shoulder|finger|knee|collarbone|neck|toe|elbow|hip|jaw|thumb|"
    "skull)"
)
_DRESSING = "(?:cast|stitches|bandages?|splint|sling)"
_ILLS = (
    "(?:fever|cold|flu|cough|migraine|headache|toothache|pain|rash|measles|chickenpox|infection|swelling|illness|"
    "cancer|pneumonia|injury|wound)"
)
_HURT = phrases(
    verbs(
        "sprain, bleed, bruise, limp, fracture, dislocate, concuss, strain, pull a muscle, injure, hurt, wound, cough"
    ),
    rf"(?:has|have|had|caught|suffer(?:s|ing) from|(?:down|ill|sick) with) (?:a |an |the )?(?:\w+ )?(?:{_ILLNESS})",
    "(?:broken|burned|burnt|swollen|bandaged|sore|bruised|crushed|maimed|cracked|aching|aches|bitten)(?= |$)",
    r"wounds?|injury|injuries|(?:a|the) (?:deep |bad )?(?:cut|gash)|(?:a|the|terrible|bad) cold|fever(?:ish)?|flu|sick",
    "(?:is|am|are|was|been|fell|seriously) ill|infection|infected|poisoned|dying|paraly[sz]ed|unconscious|bedridden",
    r"stitches|concussion|crutches|in a (?:cast|sling|coma)|in (?:the )?hospital|wheelchair|pneumonia|migraine|in pain",
    "black eye|rash|(?:tooth|head|back|stomach|ear)ache",
    r"recovering from|(?:down|ill|sick) with|suffer(?:s|ing) from|killing \S+",
    verbs("break, twist, cut, burn") + rf" (?:\S+ )?(?:left |right )?{_LIMB}",
    rf"{_LIMB} is broken",
)
_WELL = phrases(
    verbs("heal, be cured, cure, mend, knit, fade, close up, close over, awake"),
    verbs("get over, shake off, beat, overcome") + rf" (?:the|a|an|\S+'s) (?:\w+ )?{_ILLS}",
    rf"over (?:the|a|\S+'s) {_ILLS}",
    rf"{_ILLS} (?:has |had |is |was )?(?:broken?|broke|gone|over|passed|left|subsided|cleared|lifted)",
    rf"{_DRESSING} (?:came|come|coming|is|are|was|were|has come) (?:off|out|removed|taken (?:off|out))",
    rf"took off the {_DRESSING}",
    r"without (?:a |the |any |\S+'s )?(?:\w+ )?(?:limp|pain|crutches|cane|bandage)|pain-free|is gone|is over",
    r"has closed",
    "recovere?d?s?(?!ing)|healthy|(?:well|fine|healthy) again|better now|good as new|up and about|awoke|discharged",
    r"feel(?:s|ing)? (?:fine|great|better|well|good)|(?:got|getting|gets|is|much|all) (?:well|better)(?= |$)",
    r"back on \S+ feet|full strength|fully fit|fit as|fighting fit|(?:full|the) use of|regained consciousness",
    r"all clear",
    "in remission|antidote|spots gone|stopped (?:bleeding|limping|hurting|coughing)|walks? (?:freely|unaided|again)",
    "without (?:any )?(?:trouble|difficulty|problems?)|(?:no|not a) (?:trace|sign|mark) (?:of|left)",
    "scarred over|scar|pink line",
    r"can (?:\S+ ){1,7}again|(?:good|well|fast|strong|fit|steady) as (?:ever|before|new)|better than ever",
    r"(?:back to|normal) (?:\S+ )?(?:normal|again|size|strength|health)|back in shape",
)
_TRACE = re.compile(r"scar|pink line")  # of what has healed, where the place of both is told


def read_health(clause: Clause) -> Iterator[Claim]:
    hurt, well = _HURT.search(clause.text), _WELL.search(clause.text)
    words = content(clause.text)
    parts = words & _BODY
    if not hurt and not (well and (parts or clause.names or words & members("illness"))):
        return
    if well and _TRACE.fullmatch(well[0]) and not parts:
        return
    is_well = (well is not None) != bool(re.search(r"\b(?:not|never)\b", clause.text))
    value = frozenset(["well" if is_well else "hurt"])
    yield claim(clause, "health", people(clause), value, thing=parts, moves=is_well)
