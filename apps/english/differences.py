"""Find the differences between two statements. Pure."""

from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from apps.english.clauses import USER, clauses
from apps.english.lexicon import alike, opposite, stem
from apps.english.negation import is_negated
from apps.english.predicates import predicates
from apps.english.words import NOTHING, Words, meaning, owners, unmatched

_UNNAMED = frozenset([USER, "her", "his", "their"])
# Words that add little to what a statement says.
_LIGHT = _UNNAMED | meaning(
    """have own get be do make go come take keep become use sort one person somebody someone bit lot currently presently
    often usually always age year call name live say tell type located situated work job home during early place trade
    profession""".split()
)
# "Tom met Ada" and "Ada met Tom" are the same.
_SYMMETRIC = frozenset(
    """marry engage date friend enemy rival ally meet near equal argue fight cousin sibling twin divorce partner be
    brother sister neighbour neighbor similar same""".split()
)
_TURNING = frozenset("on off in out up down with against without".split())
_PLACING = frozenset("under above below behind inside outside beneath beside between before after".split())


@dataclass(frozen=True)
class Reading:
    """The stems of a statement's content words, those of them that are names, and its numbers."""

    words: Words
    names: Words
    numbers: Words
    negated: bool


@lru_cache(maxsize=4096)
def reading(text: str) -> Reading:
    """Return the parts of a statement by which it is compared."""
    words, names = NOTHING, NOTHING
    for clause in clauses(text):
        words |= frozenset(stem(word) for word in meaning(clause.words))
        names |= frozenset(stem(name) for name in clause.names) | {word[:-2] for word in owners(clause.words)}
    numbers = frozenset(word for word in words if word[0].isdigit())
    negated = is_negated(" ".join(clause.text for clause in clauses(text)))
    return Reading(words, (names & words) - _UNNAMED, numbers, negated)


def contradicts(old: str, new: str) -> bool:
    """Return whether similarly worded statements may say different things.

    They may where the newer one has another negation, number, name, particle ("on", "off") or single word, or where
    people have exchanged roles. What the newer one leaves out is no difference.
    """
    one, two = reading(old), reading(new)
    if two.numbers - one.numbers or unmatched(two.names, one.words):
        return True
    return any(check(old, new) for check in (negation_turned, roles_swapped, particles_differ, word_exchanged))


def word_exchanged(old: str, new: str) -> bool:
    """Return whether they differ in one word only. A negation together with an opposite changes nothing."""
    only_old, only_new = leftovers(old, new)
    cancelled = reading(old).negated != reading(new).negated and has_opposites(old, new)
    return len(only_old) == len(only_new) == 1 and not cancelled


def negation_turned(old: str, new: str) -> bool:
    """Return whether only one is negated, without an opposite that cancels it out: not to like is to dislike."""
    return reading(old).negated != reading(new).negated and not has_opposites(old, new)


def has_opposites(old: str, new: str) -> bool:
    """Return whether a word of one statement is the opposite of a word of the other."""
    return any(opposite(*pair) for pair in product(*leftovers(old, new)))


def identifiers_differ(old: str, new: str) -> bool:
    """Return whether a number or a name has changed, or two people have exchanged roles."""
    one, two = reading(old), reading(new)
    numbers = one.numbers - two.numbers and two.numbers - one.numbers
    names = unmatched(one.names, two.words) and unmatched(two.names, one.words)
    return bool(numbers or names) or roles_swapped(old, new)


def leftovers(old: str, new: str) -> tuple[Words, Words]:
    """Return the content words of each statement that have no synonym in the other, without light words and names."""
    one, two = reading(old), reading(new)
    return (
        unmatched(one.words, two.words) - _LIGHT - two.names,
        unmatched(two.words, one.words) - _LIGHT - one.names,
    )


def particles_differ(old: str, new: str) -> bool:
    """Return whether they differ in a particle or preposition that changes the sense: on and off, under and behind."""
    one, two = ({word for clause in clauses(text) for word in clause.words} for text in (old, new))
    turns_one, turns_two = (one - two) & _TURNING, (two - one) & _TURNING
    places_one, places_two = one & _PLACING, two & _PLACING
    return bool(turns_one and turns_two) or bool(places_one and places_two and not places_one & places_two)


def roles_swapped(old: str, new: str) -> bool:
    """Return whether two people have exchanged roles: who acts, and on whom."""
    for one, two in product(predicates(old), predicates(new)):
        if (one.rest | two.rest | {one.verb, two.verb}) & _SYMMETRIC or one.subject & two.subject:
            continue
        swapped = one.subject & two.rest & one.names and two.subject & one.rest & two.names
        if swapped and alike(one.verb, two.verb):
            return True
    return False


def tells_what_became(old: str, new: str) -> bool:
    """Return whether the older statement describes a state and the newer one a later event."""
    _, only_new = leftovers(old, new)
    happened = (predicate for predicate in predicates(new) if predicate.told or predicate.perfect)
    return any(event.verb in only_new for event in happened) and not any(state.told for state in predicates(old))
