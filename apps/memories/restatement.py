"""Does a newer statement only repeat an older one in other words? Pure.

Likeness of vectors alone can't tell: they are alike too where a name, a number or a "not" differs.
"""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from apps.memories.claims import claims
from apps.memories.claims.claim import Words, content, people
from apps.memories.claims.deaths import dead, speaks_of_death
from apps.memories.claims.endings import speaks_of_an_end
from apps.memories.claims.losses import speaks_of_a_loss
from apps.memories.claims.predicate import is_negated, predicates, unmatched
from apps.memories.lexicon import alike, members, opposite, stem
from apps.memories.wording import USER, clauses

_UNNAMED = frozenset([USER, "her", "his", "their"])
# What says no more than that something is so.
_LIGHT = _UNNAMED | content(
    """have own get be do make go come take keep become use way thing kind sort one person somebody someone people bit
    lot currently presently still often usually always age year call name live say tell old new type located
    situated work job home during early place trade
    profession"""
)
_MIRRORED = frozenset(
    """marry engage date friend enemy rival ally meet near equal argue fight cousin sibling twin divorce partner be
    brother sister neighbour neighbor similar same""".split()
)
_ELDER = frozenset("older younger elder big little".split())
_INVERSE_KIN = [
    ("brother sister sibling", "brother sister sibling"),
    ("father mother parent dad mom mum", "son daughter child kid"),
    ("uncle aunt", "nephew niece"),
    ("grandfather grandmother grandparent", "grandson granddaughter grandchild"),
    ("husband", "wife"),
    ("boss manager employer", "employee assistant subordinate"),
    ("teacher mentor tutor master", "student pupil apprentice"),
]
_TURNING = frozenset("off out against without".split())
_PLACING = frozenset("under above below behind inside outside beneath beside between before after".split())
# What makes another thing of what it is said of.
_QUALIFYING = frozenset(
    "second third half almost nearly former supposed alleged retired fake false future only".split()
)
_BEINGS = members("kin") | members("animal")
_OF_FEW_VALUES = frozenset(["partner", "life", "health", "rank"])  # which may be worded in any way
EXTRA_WORDS = 1  # that a repetition may add without telling something new
MANY_WORDS = 2
UNLIKE_SHARE = 0.4  # of the words of a statement that may be other ones in a repetition


@dataclass(frozen=True)
class Reading:
    """The words of meaning of a statement, those of them that are names, and its numbers."""

    words: Words
    names: Words
    numbers: Words
    negated: bool


@lru_cache(maxsize=4096)
def reading(text: str) -> Reading:
    words, names = frozenset[str](), frozenset[str]()
    for clause in clauses(text):
        words |= frozenset(stem(word) for word in content(clause.text))
        names |= people(clause)
    numbers = frozenset(word for word in words if word[0].isdigit())
    negated = is_negated(" ".join(clause.text for clause in clauses(text)))
    return Reading(words, (names & words) - _UNNAMED, numbers, negated)


@dataclass(frozen=True)
class Differences:
    """In what two statements differ; ``only_old`` and ``only_new`` are the words that the other has not."""

    any: bool
    facts: bool
    points_elsewhere: bool
    tells_what_became: bool
    new_tells_an_end: bool
    only_old: Words
    only_new: Words


def differences(old: str, new: str) -> Differences:
    one, two = reading(old), reading(new)
    only_old, only_new = _leftovers(one, two)
    return Differences(
        any=differs(old, new),
        facts=_facts_differ(one, two),
        points_elsewhere=_point_elsewhere(old, new),
        tells_what_became=_tells_what_became(old, new, only_new),
        new_tells_an_end=_speaks_of(new)[1],
        only_old=only_old,
        only_new=only_new,
    )


def differs(old: str, new: str) -> bool:
    """They are worded alike, but what they say is not the same."""
    one, two = reading(old), reading(new)
    if _mirrors(one, two):
        return False
    if _facts_differ(one, two) or _roles_swapped(old, new):
        return True
    only_old, only_new = _leftovers(one, two)
    if _end_differently(old, new, only_old | only_new) or _point_elsewhere(old, new):
        return True
    if (only_old | only_new) & _QUALIFYING:
        return True
    if len(only_new) > MANY_WORDS and len(only_new) > UNLIKE_SHARE * len(two.words):
        return True
    if _tells_what_became(old, new, only_new):
        return True
    if only_new & _BEINGS and not _claim_the_same(old, new):
        return True
    if len(only_old) == len(only_new) == 1 and not _excluded(only_old, only_new):
        return not _claim_the_same(old, new) and not _of_two_sorts(old, new, only_old, only_new)
    return not only_old and _adds(only_new)


def _end_differently(old: str, new: str, leftovers: Words) -> bool:
    """Only one of them says that something is over."""
    return bool(leftovers) and _speaks_of(old) != _speaks_of(new)


def _speaks_of(text: str) -> tuple[bool, bool]:
    """Of a death; of any other end."""
    died = speaks_of_death(text)
    return died, not died and (speaks_of_an_end(text) or speaks_of_a_loss(text))


def _point_elsewhere(old: str, new: str) -> bool:
    """On and off, under and behind: little words that change what is said."""
    one, two = ({word for clause in clauses(text) for word in clause.words} for text in (old, new))
    places_one, places_two = one & _PLACING, two & _PLACING
    return bool((one ^ two) & _TURNING) or bool(places_one and places_two and not places_one & places_two)


def _tells_what_became(old: str, new: str, only_new: Words) -> bool:
    """One says how things are, the other what has happened since."""
    happened = (predicate for predicate in predicates(new) if predicate.told or predicate.perfect)
    return any(event.verb in only_new for event in happened) and not any(state.told for state in predicates(old))


def _adds(words: Words) -> bool:
    """Words that stand beside all that was said before tell something new: more than one, or somebody else."""
    return len(words) > EXTRA_WORDS or bool(words & _BEINGS)


def _of_two_sorts(old: str, new: str, only_old: Words, only_new: Words) -> bool:
    """A verb for a noun is another way to say it: drives a van, has a van."""
    verbs_old, verbs_new = ({predicate.verb for predicate in predicates(text)} for text in (old, new))
    if (only_old | only_new) & members("person"):
        return False
    return bool(only_old & verbs_old) != bool(only_new & verbs_new)


def _claim_the_same(old: str, new: str) -> bool:
    if any(one[0] & two[0] for one, two in product(dead(old), dead(new))):
        return True
    return any(
        (before.attribute, before.value, before.thing) == (after.attribute, after.value, after.thing)
        and before.subject & after.subject
        for before, after in product(claims(old), claims(new))
        if before.attribute in _OF_FEW_VALUES
    )


def restates(old: str, new: str) -> bool:
    """The newer statement says in like words what the older one says, or less."""
    one, two = reading(old), reading(new)
    if _mirrors(one, two):
        return True
    if _facts_differ(one, two) or _roles_swapped(old, new):
        return False
    only_old, only_new = _leftovers(one, two)
    if _end_differently(old, new, only_old | only_new) or _point_elsewhere(old, new) or not two.words:
        return False
    return not only_new and len(only_old) <= max(1, UNLIKE_SHARE * len(one.words))


def _mirrors(one: Reading, two: Reading) -> bool:
    """The same bond seen from its other end, with nothing else said."""
    if one.names != two.names or one.negated != two.negated:
        return False
    first, second = one.words - one.names, two.words - two.names
    for here, there in (pair for pair in _INVERSE_KIN for pair in (pair, pair[::-1])):
        kin_first, kin_second = first & frozenset(here.split()), second & frozenset(there.split())
        if kin_first and kin_second and not (first - kin_first - _ELDER) ^ (second - kin_second - _ELDER):
            return True
    return False


def _facts_differ(one: Reading, two: Reading) -> bool:
    """In a name, a number, or a negation; what is left out is no difference. Not to like is to dislike."""
    new_names = unmatched(two.names, one.words)
    turned = _excluded(unmatched(one.words, two.words), unmatched(two.words, one.words))
    return (one.negated != two.negated) != turned or bool(two.numbers - one.numbers) or bool(new_names)


def _leftovers(one: Reading, two: Reading) -> tuple[Words, Words]:
    """What each says that the other does not."""
    return (
        unmatched(one.words, two.words) - _LIGHT - two.names,
        unmatched(two.words, one.words) - _LIGHT - one.names,
    )


def _excluded(only_old: Words, only_new: Words) -> bool:
    return any(opposite(one, two) for one, two in product(only_old, only_new))


def _roles_swapped(old: str, new: str) -> bool:
    """The same people change places: who did it, and to whom."""
    for one, two in product(predicates(old), predicates(new)):
        mirrored = one.words & _MIRRORED or two.words & _MIRRORED
        apart = not one.subject & two.subject and alike(one.verb, two.verb)
        swapped = one.subject & two.rest & one.names and two.subject & one.rest & two.names
        if apart and swapped and not mirrored:
            return True
    return False
