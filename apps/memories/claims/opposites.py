"""Claims with two values, one of which ends the other: open and closed, for and against. Pure."""

import re
from collections.abc import Iterator

from apps.memories.claims.claim import (
    NOTHING,
    Claim,
    after,
    before,
    claim,
    content,
    negated,
)
from apps.memories.lexicon import members
from apps.memories.wording import Clause

POLES = {
    "opening": (r"open(?:ed|s)?|unlocked|ajar|unsealed|unbarred", r"closed|shut|locked|sealed|barred|bolted"),
    "ruin": (
        r"destroyed|ruined|burned down|burnt down|collapsed|wrecked|in ruins|broken|out of order|broke down|jammed|malfunction\w*|flooded|ruined",
        r"works?|working|functions|functional|intact|rebuilt|repaired|restored|fixed|mended|works again|whole again",
    ),
    "prison": (
        r"prison|jail|locked up|behind bars|in (?:custody|a cell|the dungeon)|hostage|held captive|imprisoned|captured|arrested|captive|prisoner|in chains",
        r"freed?|released|escaped|acquitted|broke out|slipped away|rescued|at large|on the loose|pardoned|liberty",
    ),
    "war": (r"at war|war|under siege|besieged", r"peace|truce|armistice|siege (?:was|is|has been) (?:lifted|broken)"),
    "light": (
        r"lit|burns|burning|alight|glowing|switched on|turned on|ablaze",
        r"went out|gone out|unlit|extinguished|put out|doused|snuffed out|switched off|turned off|dark|burned out|burnt out",
    ),
    "pregnancy": (
        r"pregnant|expecting(?: a (?:baby|child))?",
        r"gave birth|had (?:a|the) baby|miscarriage|baby was born",
    ),
    "absence": (r"missing|disappeared|vanished", r"turned up|came back|reappeared|was found"),
    "diet": (
        r"vegetarian|vegan",
        r"(?:eat|eats|eating|ate|ordered|orders|loves|enjoys) (?:\w+ ){0,3}?(?:meat|fish|cheese|eggs|steaks?|beef|pork|chicken|bacon|ham|burgers?|lamb|sausages?|salmon)",
    ),
    "debt": (r"owes?|owed|in debt", r"paid|repaid|settled|pays? back|debt(?: was| is)? (?:paid|cleared)"),
    "curse": (r"cursed|under a curse|enchanted", r"(?:curse|spell) (?:was |is |has been )?(?:lifted|broken)"),
    "sobriety": (r"smokes?|smoking|drinks too much|addicted", r"(?:quit|stopped|gave up) (?:smoking|drinking)|sober"),
    "sight": (r"blind", r"sees? again|(?:regained|restored) \S+ sight"),
    "wealth": (
        r"penniless|poor|broke|bankrupt|destitute|in poverty|homeless",
        r"rich|wealthy|(?:inherit\w*|won|made|came into) (?:a |the )?(?:\w+ )?(?:fortune|lottery|jackpot)|millionaire|well off",
    ),
    "guilt": (
        r"innocent|not guilty|cleared|exonerated",
        r"guilty|culprit|murderer|killer|traitor|convicted|confessed|behind (?:the|it)",
    ),
    "consciousness": (
        r"unconscious|in a coma|comatose|asleep|fainted|passed out",
        r"woke(?: up)?|awake|awoke|conscious|regained consciousness|came to(?=$| \S+ senses)|opened \S+ eyes",
    ),
    "arrival": (
        r"on (?:the|\S+'s) way|travell?ing to|heading (?:to|for)|en route",
        r"arrived|reached|made it to|came home|returned",
    ),
    "children": (
        r"no (?:children|kids)|not have (?:any )?(?:children|kids)|childless",
        r"(?:daughter|son|baby|child|twins|boy|girl) (?:was|were) born|gave birth|became a (?:father|mother|parent)|"
        r"(?:has|have|had|adopted|welcomed) (?:a|\d|\S+'s first) (?:\w+ )?(?:son|daughter|child|children|kids|baby|sons|daughters)",
    ),
    "duty": (r"on strike|suspended|grounded", r"reinstated|back at work|back to work"),
}
_POLES = {
    name: (re.compile(rf"\b(?:{first})\b"), re.compile(rf"\b(?:{second})\b")) for name, (first, second) in POLES.items()
}


def read_poles(clause: Clause) -> Iterator[Claim]:
    for name, (first, second) in _POLES.items():
        one, two = first.search(clause.text), second.search(clause.text)
        if not (one or two):
            continue
        is_second = (two is not None) != negated(clause)
        rest = content(second.sub(" ", first.sub(" ", clause.text))) - content(
            "stands lies has go went sign make son daughter child baby twins boy girl first night"
        )
        yield claim(clause, name, rest, frozenset(["second" if is_second else "first"]), moves=True)


_FOR = re.compile(
    r"\b(?:likes?|loved?|loves|enjoys?|adores?|trusts?|trusted|fond of|prefers?|looks up to|mentor|idol|hero|worships|idolises|idolizes|cherishes|loyal to|devoted to|warmed to|best friends?|befriended|forgave|friends?|made up|reconciled|"
    r"allies|ally|on (?:good|speaking) terms|patched things up|made peace|close to|gets? along|adores?|"
    r"in love with|respects?|admires?)\b"
)
_AGAINST = re.compile(
    r"\b(?:hates?|dislikes?|distrusts?|despises?|mistrusts?|resents?|suspicious of|wary of|turned on|turned against|fed up with|sick of|loathes?|betrayed|betrays|enem(?:y|ies)|angry (?:with|at)|"
    r"can not stand|can not bear|detests?|fell out|falling out|estranged|at odds|bad terms|not speaking to|rivals?|foes?|nemesis|feuding|sworn enem\w+)\b"
)


def read_attitude(clause: Clause) -> Iterator[Claim]:
    against, favour = _AGAINST.search(clause.text), _FOR.search(clause.text)
    match = against or favour
    if match is None:
        return
    negated = bool(re.search(r"\b(?:not|never|no longer)\b", clause.text)) and "can not" not in match[0]
    good = (against is None) != negated
    value = frozenset(["for" if good else "against"])
    words = content(clause.text)
    owned = frozenset(word.removesuffix("'s") for word in words if word.endswith("'s"))
    people = (words | owned) & (content(" ".join(clause.names)) | members("kin"))
    if len(people) > 1:
        yield claim(clause, "regard", NOTHING, value, thing=people)
    else:
        yield claim(clause, "taste", before(clause, match), value, thing=after(clause, match))
