"""Two statements that place the same at different spots, in whatever words. Pure."""

from apps.memories.claims.claim import content
from apps.memories.claims.predicate import Predicate, conflicting

# Where something is at the moment; where somebody is at home.
_SPOTS = frozenset(
    "be sit lie stand hide hang dock moor park anchor orbit rest bury store keep lock stash stow".split()
)
_NESTS = frozenset("sleep live dwell nest roost lair den shelter camp lodge".split())
_AT = frozenset("in on at under near above beneath behind inside beside outside aboard around below".split())
# What stays where it is can be told to be at a hill and at a river.
_FIXED = content(
    """castle house tower village town city inn tavern mill temple church chapel abbey monastery bridge mountain hill
    river lake forest wood shop store bakery well farm palace keep fortress fort cottage school hospital station
    office building room garden wall gate road street island country kingdom cave mine harbour port cabin hut"""
)
_STATES = content(
    """mood condition rage danger trouble love charge need ruin shape debt hurry pain tear flame war peace use repair
    progress place order fire control risk fault odds stake work board leave luck power doubt fear way side time age
    middle top end edge centre heart root bottom fashion demand season pieces company view sight"""
)


def elsewhere(one: Predicate, two: Predicate) -> bool:
    """Both tell where the same movable thing is, and not at the same spot."""
    if one.told or two.told or one.negated or two.negated or (one.subject | two.subject) & _FIXED:
        return False
    alike = any(one.verb in verbs and two.verb in verbs for verbs in (_SPOTS, _NESTS))
    if not alike or one.verb == two.verb == "be" or one.link not in _AT or two.link not in _AT:
        return False
    first, second = one.rest - _PREPOSITIONS, two.rest - _PREPOSITIONS
    return not (first | second) & _STATES and not first & second and conflicting(first, second)


_PREPOSITIONS = content(" ".join(_AT))
