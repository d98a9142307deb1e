"""Claims with two values, one of which ends the other: open and closed, for and against. Pure."""

import re
from collections.abc import Iterator

from apps.memories.claims.claim import NOTHING, Claim, after, before, claim, content, phrases
from apps.memories.lexicon import members
from apps.memories.wording import Clause

_FOOD = "(?:meat|fish|cheese|eggs|steaks?|beef|pork|chicken|bacon|ham|burgers?|lamb|sausages?|salmon)"
_ALCOHOL = "(?:alcohol|wine|beer|ale|whisky|whiskey|vodka|rum|gin|mead|liquor|spirits|brandy)"
_CHILD = "(?:sons?|daughters?|child|children|kids?|baby|babies|twins|boy|girl)"
POLES = {
    "opening": (
        ("(?:re)?open(?:ed|s)?|unlocked|ajar|unsealed|unbarred|unblocked|cleared|passable",),
        (
            "closed|shut|locked|sealed|barred|bolted|blocked|barricaded|chained",
            "(?:bricked|boarded|walled|nailed|filled|blocked) (?:up|shut)",
        ),
    ),
    "ruin": (
        (
            "destroyed|ruined|collapsed|wrecked|in ruins|broken|out of order|broke down|jammed|flooded",
            "cracked|torn|rusted|rusty|leaks?|leaking|leaky|shattered|worn out|rotten|snapped|damaged|dented|fried",
            r"burn(?:ed|t) down|malfunction\w*",
        ),
        (
            r"(?:works?|working|functions)(?= (?:again|fine|properly|perfectly)\b|$)",
            "functional|intact|rebuilt|repaired|restored|fixed|mended|whole again",
            "patched(?: up)?|replaced",
        ),
    ),
    "prison": (
        (
            "prison|jail|imprisoned|captured|arrested|captive|prisoner|in chains|locked up|behind bars|hostage",
            "in (?:custody|a cell|the dungeon|a cage)|chained|caged|tied up|leashed|on a (?:leash|chain)",
            r"shares a cell|serv(?:es|ing) (?:time|a \S+ ?sentence)|inmate|convict",
        ),
        (
            "freed?|released|escaped|acquitted|broke out|slipped away|rescued|at large|on the loose|pardoned|paroled",
            "liberty|free (?:man|woman|again)|unchained|loose|runs wild|(?:roams|runs) free(?:ly)?",
        ),
    ),
    "war": (
        ("at war|war|under siege|besieged",),
        ("peace|truce|armistice|siege (?:was|is|has been) (?:lifted|broken)",),
    ),
    "light": (
        ("lit|burns|burning|alight|glowing|ablaze|(?:switched|turned) on|has (?:power|electricity)",),
        (
            "went out|gone out|unlit|extinguished|put out|doused|snuffed out|dark|burn(?:ed|t) out",
            "(?:switched|turned) off|blackout|lost power|power (?:is|went) out",
        ),
    ),
    "pregnancy": (
        ("pregnant|expecting(?: a (?:baby|child))?",),
        ("gave birth|had (?:a|the) baby|miscarriage|baby was born",),
    ),
    "children": (
        (f"(?:no|not have|not have any) (?:{_CHILD}|heirs?)|childless|heirless",),
        (
            f"{_CHILD} (?:was|were) born|gave birth|became a (?:father|mother|parent)",
            rf"(?:has|have|had|adopted|welcomed) (?:a|\d|\S+'s first) (?:\w+ )?{_CHILD}",
        ),
    ),
    "siblings": (
        ("only child|no (?:siblings|brothers|sisters)",),
        (r"(?:has|have|had) (?:a|\d+|another) (?:\w+ )?(?:brothers?|sisters?|siblings?)",),
    ),
    "presence": (
        ("missing|disappeared|vanished|nowhere to be found",),
        (r"(?:is|sits|lies|hangs|rests|is kept) (?:safely |safe )?(?:in|on|inside|under) (?:the|a|\S+'s)",),
    ),
    "renewal": (
        ("broken|cracked|torn|rusted|rusty|leaks?|leaking|leaky|shattered|worn out|rotten|snapped|damaged|dead",),
        ("(?:brand-|brand )?new",),
    ),
    "absence": (
        ("missing|disappeared|vanished|nowhere to be found",),
        ("turned up|came back|reappeared|was found",),
    ),
    "arrival": (
        (r"on (?:the|\S+'s) way|travell?ing to|heading (?:to|for)|en route",),
        ("arrived|reached|made it to|came home|returned",),
    ),
    "diet": (("vegetarian|vegan",), (rf"(?:eat|eats|eating|ate|orders|ordered|loves|enjoys) (?:\w+ ){{0,3}}?{_FOOD}",)),
    "dieting": (
        (r"on a (?:\w+ )?diet|dieting|fasting|(?:gluten|dairy|sugar)-free",),
        (r"eat(?:s|ing)? (?:\S+ ){1,5}again|eats? (?:whatever|everything|anything|normally)|off the diet",),
    ),
    "magic": (
        (r"casts? (?:\w+ ){0,2}spells?|(?:use|wield|do|practi[sc]e|command|perform)s? (?:\w+ )?(?:magic|sorcery)",),
        (r"lost \S+ (?:magic|powers?)|powerless",),
    ),
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
        (
            "smoke[ds]?|smoking|drinks too much|drinks heavily|addicted",
            rf"(?:drinks?|drinking|touch(?:es)?) (?:\w+ ){{0,2}}?{_ALCOHOL}",
        ),
        ("(?:quit|stopped|gave up) (?:smoking|drinking)|sober",),
    ),
    "sight": (("blind",), (r"can see|sees? again|(?:regained|restored) \S+ (?:eye)?sight",)),
    "hearing": (("deaf",), (r"can hear|hears? again|(?:regained|restored) \S+ hearing",)),
    "speech": (
        (r"mute|lost \S+ voice|struck dumb",),
        (r"can (?:speak|talk)|(?:speaks|talks) again|(?:found|regained) \S+ (?:voice|speech)",),
    ),
    "purity": (
        ("poison(?:ed|ous)?|contaminated|tainted|fouled?|polluted|undrinkable",),
        ("clean|pure|purified|fresh|drinkable|safe to drink",),
    ),
    "bondage": (
        (r"(?:sealed|bound|suppressed|shackled|restrained|trapped|held|chained) (?:by|in|to|with)|in shackles",),
        (r"(?:free|rid) of|unbound|freed from|broke free|shook off|threw off",),
    ),
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
_NEGATED = phrases("not|never|no longer|without|nobody|no")
_BESIDE = content("stands lies has go went sign make son daughter child baby twins boy girl first night")


def read_poles(clause: Clause) -> Iterator[Claim]:
    for name, (first, second) in _POLES.items():
        one, two = first.search(clause.text), second.search(clause.text)
        if not (one or two):
            continue
        is_second = (two is not None) != bool(_NEGATED.search(first.sub(" ", clause.text)))
        rest = content(second.sub(" ", first.sub(" ", clause.text))) - _BESIDE
        yield claim(clause, name, rest, frozenset(["second" if is_second else "first"]), moves=True)


_FOR = phrases(
    "likes?|loves?|loved|enjoys?|adores?|prefers?|fond of|cherishes|admires?|respects?|worships|idoli[sz]es",
    "looks up to",
    "trusts?|trusted|loyal to|devoted to|warmed to|close to|gets? along|on (?:good|speaking) terms|mentor|idol|hero",
    "(?:best )?friends?|allies|ally|befriended|forgave|made up|made peace|reconciled|patched things up|inseparable",
)
_OPINES = "(?:thinks?|believes?|considers?|calls?|finds?|knows|regards|sees)"
_VILLAIN = (
    "(?:liar|traitor|fraud|coward|fool|monster|snake|thief|tyrant|villain|idiot|crook|cheat|impostor|charlatan|"
    "hypocrite|bully|brute|spy)"
)
_AGAINST = phrases(
    "hates?|dislikes?|despises?|loathes?|detests?|resents?|can not (?:stand|bear)|angry (?:with|at)",
    "fed up with|sick of",
    "distrusts?|mistrusts?|suspicious of|wary of|betrayed|betrays|turned (?:on|against)|fell out|falling out|estranged",
    "(?:do|does|did|is|are) not (?:talk|talking|speak|speaking) to|(?:barely|hardly) knows?",
    rf"{_OPINES} (?:that )?\S+ (?:is |to be |as )?(?:(?:a|an|the|no) )?(?:\w+ )?{_VILLAIN}",
    "no longer (?:speak|talk|friends)|stopped (?:speaking|talking)|drifted apart",
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
