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
from apps.memories.wording import Clause

POLES = {
    "opening": (r"open(?:ed|s)?|unlocked|ajar", r"closed|shut|locked|sealed|barred|bolted"),
    "ruin": (
        r"destroyed|ruined|burned down|burnt down|collapsed|wrecked|in ruins|broken|out of order|broke down",
        r"rebuilt|repaired|restored|fixed|mended|works again|whole again",
    ),
    "prison": (
        r"prison|jail|imprisoned|captured|arrested|captive|prisoner|in chains",
        r"freed?|released|escaped|acquitted",
    ),
    "war": (r"at war|war|under siege|besieged", r"peace|truce|armistice|siege (?:was|is|has been) (?:lifted|broken)"),
    "pregnancy": (r"pregnant|expecting a (?:baby|child)", r"gave birth|had (?:a|the) baby|miscarriage|baby was born"),
    "absence": (r"missing|disappeared|vanished", r"turned up|came back|reappeared|was found"),
    "diet": (r"vegetarian|vegan", r"eats? (?:meat|fish)|eating (?:\w+ and )?(?:meat|fish|cheese|eggs)"),
    "debt": (r"owes?|owed|in debt", r"paid|repaid|settled|pays? back|debt(?: was| is)? (?:paid|cleared)"),
    "curse": (r"cursed|under a curse|enchanted", r"(?:curse|spell) (?:was |is |has been )?(?:lifted|broken)"),
    "sobriety": (r"smokes?|smoking|drinks too much|addicted", r"(?:quit|stopped|gave up) (?:smoking|drinking)|sober"),
    "sight": (r"blind", r"sees? again|(?:regained|restored) \S+ sight"),
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
        rest = content(second.sub(" ", first.sub(" ", clause.text))) - content("stands lies has go went sign make")
        yield claim(clause, name, rest, frozenset(["second" if is_second else "first"]), moves=True)


_FOR = re.compile(
    r"\b(?:likes?|loved?|loves|enjoys?|adores?|trusts?|trusted|fond of|prefers?|befriended|forgave|friends?|"
    r"allies|ally|"
    r"in love with|respects?|admires?)\b"
)
_AGAINST = re.compile(
    r"\b(?:hates?|dislikes?|distrusts?|despises?|loathes?|betrayed|betrays|enem(?:y|ies)|angry (?:with|at)|"
    r"can not stand|can not bear|detests?|fell out|falling out)\b"
)


def read_attitude(clause: Clause) -> Iterator[Claim]:
    against, favour = _AGAINST.search(clause.text), _FOR.search(clause.text)
    match = against or favour
    if match is None:
        return
    negated = bool(re.search(r"\b(?:not|never|no longer)\b", clause.text)) and "can not" not in match[0]
    good = (against is None) != negated
    value = frozenset(["for" if good else "against"])
    people = content(" ".join(clause.names)) & content(clause.text)
    if len(people) > 1:
        yield claim(clause, "regard", NOTHING, value, thing=people)
    else:
        yield claim(clause, "taste", before(clause, match), value, thing=after(clause, match))
