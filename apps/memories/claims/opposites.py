"""Claims with two values, one of which ends the other: open and closed, for and against. Pure."""

import re
from collections.abc import Iterator

from apps.memories.claims.claim import NOTHING, Claim, after, before, claim, content, negated, phrases
from apps.memories.lexicon import members
from apps.memories.wording import Clause

_FOOD = "(?:meat|fish|cheese|eggs|steaks?|beef|pork|chicken|bacon|ham|burgers?|lamb|sausages?|salmon)"
_CHILD = "(?:sons?|daughters?|child|children|kids?|baby|babies|twins|boy|girl)"
POLES = {
    "opening": (
        ("(?:re)?open(?:ed|s)?|unlocked|ajar|unsealed|unbarred",),
        ("closed|shut|locked|sealed|barred|bolted",),
    ),
    "ruin": (
        (
            "destroyed|ruined|collapsed|wrecked|in ruins|broken|out of order|broke down|jammed|flooded",
            r"burn(?:ed|t) down|malfunction\w*",
        ),
        (
            r"(?:works?|working|functions)(?= (?:again|fine|properly|perfectly)\b|$)",
            "functional|intact|rebuilt|repaired|restored|fixed|mended|whole again",
        ),
    ),
    "prison": (
        (
            "prison|jail|imprisoned|captured|arrested|captive|prisoner|in chains|locked up|behind bars|hostage",
            "in (?:custody|a cell|the dungeon)",
        ),
        ("freed?|released|escaped|acquitted|broke out|slipped away|rescued|at large|on the loose|pardoned|liberty",),
    ),
    "war": (
        ("at war|war|under siege|besieged",),
        ("peace|truce|armistice|siege (?:was|is|has been) (?:lifted|broken)",),
    ),
    "light": (
        ("lit|burns|burning|alight|glowing|ablaze|(?:switched|turned) on",),
        (
            "went out|gone out|unlit|extinguished|put out|doused|snuffed out|dark|burn(?:ed|t) out",
            "(?:switched|turned) off",
        ),
    ),
    "pregnancy": (
        ("pregnant|expecting(?: a (?:baby|child))?",),
        ("gave birth|had (?:a|the) baby|miscarriage|baby was born",),
    ),
    "children": (
        ("(?:no|not have|not have any) (?:children|kids)|childless",),
        (
            f"{_CHILD} (?:was|were) born|gave birth|became a (?:father|mother|parent)",
            rf"(?:has|have|had|adopted|welcomed) (?:a|\d|\S+'s first) (?:\w+ )?{_CHILD}",
        ),
    ),
    "absence": (("missing|disappeared|vanished",), ("turned up|came back|reappeared|was found",)),
    "arrival": (
        (r"on (?:the|\S+'s) way|travell?ing to|heading (?:to|for)|en route",),
        ("arrived|reached|made it to|came home|returned",),
    ),
    "diet": (("vegetarian|vegan",), (rf"(?:eat|eats|eating|ate|orders|ordered|loves|enjoys) (?:\w+ ){{0,3}}?{_FOOD}",)),
    "debt": (("owes?|owed|in debt",), ("paid|repaid|settled|pays? back|debt(?: was| is)? (?:paid|cleared)",)),
    "wealth": (
        ("penniless|poor|broke|bankrupt|destitute|in poverty|homeless",),
        (
            "rich|wealthy|millionaire|well off",
            r"(?:inherit\w*|won|made|came into) (?:a |the )?(?:\w+ )?(?:fortune|lottery|jackpot)",
        ),
    ),
    "curse": (("cursed|under a curse|enchanted",), ("(?:curse|spell) (?:was |is |has been )?(?:lifted|broken)",)),
    "sobriety": (
        ("smokes?|smoking|drinks too much|addicted",),
        ("(?:quit|stopped|gave up) (?:smoking|drinking)|sober",),
    ),
    "sight": (("blind",), (r"sees? again|(?:regained|restored) \S+ sight",)),
    "consciousness": (
        ("unconscious|in a coma|comatose|asleep|fainted|passed out",),
        (r"woke(?: up)?|awake|awoke|conscious|regained consciousness|came to(?=$| \S+ senses)|opened \S+ eyes",),
    ),
    "guilt": (
        ("innocent|not guilty|cleared|exonerated",),
        ("guilty|culprit|murderer|killer|traitor|convicted|confessed|behind (?:the|it)",),
    ),
    "duty": (("on strike|suspended|grounded",), ("reinstated|back at work|back to work",)),
}
_POLES = {name: (phrases(*first), phrases(*second)) for name, (first, second) in POLES.items()}
_BESIDE = content("stands lies has go went sign make son daughter child baby twins boy girl first night")


def read_poles(clause: Clause) -> Iterator[Claim]:
    for name, (first, second) in _POLES.items():
        one, two = first.search(clause.text), second.search(clause.text)
        if not (one or two):
            continue
        is_second = (two is not None) != negated(clause)
        rest = content(second.sub(" ", first.sub(" ", clause.text))) - _BESIDE
        yield claim(clause, name, rest, frozenset(["second" if is_second else "first"]), moves=True)


_FOR = phrases(
    "likes?|loves?|loved|enjoys?|adores?|prefers?|fond of|cherishes|admires?|respects?|worships|idoli[sz]es",
    "looks up to",
    "trusts?|trusted|loyal to|devoted to|warmed to|close to|gets? along|on (?:good|speaking) terms|mentor|idol|hero",
    "(?:best )?friends?|allies|ally|befriended|forgave|made up|made peace|reconciled|patched things up",
)
_AGAINST = phrases(
    "hates?|dislikes?|despises?|loathes?|detests?|resents?|can not (?:stand|bear)|angry (?:with|at)",
    "fed up with|sick of",
    "distrusts?|mistrusts?|suspicious of|wary of|betrayed|betrays|turned (?:on|against)|fell out|falling out|estranged",
    "(?:do|does|did|is|are) not (?:talk|talking|speak|speaking) to|(?:barely|hardly) knows?",
    "enem(?:y|ies)|rivals?|foes?|nemesis|feuding|at odds|bad terms|not speaking to",
)


def read_attitude(clause: Clause) -> Iterator[Claim]:
    against, favour = _AGAINST.search(clause.text), _FOR.search(clause.text)
    match = against or favour
    if match is None:
        return
    beside = clause.text[: match.start()] + clause.text[match.end() :]
    negated = bool(re.search(r"\b(?:not|never|no longer)\b", beside))
    good = (against is None) != negated
    value = frozenset(["for" if good else "against"])
    words = content(clause.text)
    owned = frozenset(word.removesuffix("'s") for word in words if word.endswith("'s"))
    people = (words | owned) & (content(" ".join(clause.names)) | members("kin"))
    if len(people) > 1:
        yield claim(clause, "regard", NOTHING, value, thing=people)
    else:
        yield claim(clause, "taste", before(clause, match), value, thing=after(clause, match))
