"""Two statements of one build that exclude each other: of the same subject, with the same verb, and one thing changed.
Pure."""

from itertools import product

from apps.memories.claims.claim import Words, content, owners
from apps.memories.claims.predicate import Predicate, conflicting, predicates, same_subject, unmatched
from apps.memories.claims.supplies import supplies
from apps.memories.claims.whereabouts import elsewhere
from apps.memories.lexicon import alike, members, opposite, stem
from apps.memories.wording import CALENDAR

# What one does in one place, at one time, for one party, at one price.
_ONE_AT_A_TIME = frozenset(
    """live reside dwell lodge cost weigh earn start begin open close leave depart arrive sit stand lie sleep stay work
    study belong call name report rule measure lead captain board camp hang end last rent play drive""".split()
)
_OF_AN_AMOUNT = frozenset("cost weigh earn call name measure rent lead captain board end drive".split())
# What one person has or does at a time.
_ONE_HOLDER = frozenset("rule command lead own captain govern head hold possess control chair run manage".split())
_HOLDS = frozenset("hold occupy guard garrison control have belong keep rent use reign sit".split())
_TAKES = frozenset(
    """capture retake recapture seize conquer take occupy liberate claim annex usurp buy inherit win steal
    acquire""".split()
)
_ONE_PARTY = frozenset("call name marry engage date rename captain report serve command".split())
# States of one series, of which something is in one at a time; those that stand with a stroke go together.
_STATES = [
    [content(state.replace("/", " ")) for state in series.split()]
    for series in (
        "stranger acquaintance friend/pal/buddy lover/couple/sweetheart enemy/rival/foe/nemesis",
        "human/mortal vampire werewolf demon elf ghost witch dragon robot/android angel mermaid orc dwarf fairy",
        "happy/cheerful/glad sad/miserable/depressed/upset angry/furious/mad calm/relaxed scared/terrified/afraid",
        "dawn/sunrise morning noon/midday afternoon dusk/evening/sunset night/midnight",
        "spring summer autumn/fall winter",
        "red/crimson/scarlet blue green yellow black white brown grey/gray purple/violet pink orange blond/blonde",
        "freshman sophomore junior senior graduate",
        "beginner/novice/apprentice/trainee/initiate intermediate/journeyman advanced/expert/master",
        "page squire knight",
        "prince/princess king/queen emperor/empress",
        "cadet/recruit corporal sergeant lieutenant captain major colonel general",
        "left-handed right-handed",
        "catholic protestant muslim jewish buddhist atheist hindu agnostic",
        "republican democrat liberal conservative socialist",
        "full/crowded empty/deserted",
        "bearded clean-shaven",
        "cheap expensive free",
    )
]


def contrast(old: str, new: str) -> str | None:
    """The rule by which the newer statement excludes the older one."""
    for one, two in product(predicates(old), predicates(new)):
        if same_subject(one, two):
            rule = _of_one_subject(one, two) or ("turned" if _turned(one, two) else None)
            if rule:
                return rule
        elif _had(one, two):
            return "turned"
        elif supplies(one, two):
            return "supplied"
        elif _held_by_another(one, two):
            return "holder"
    return None


def _of_one_subject(one: Predicate, two: Predicate) -> str | None:
    if one.negated != two.negated:
        return "negation" if _deny(one, two) or supplies(one, two) else None
    if one.told and two.told:
        return None
    if _opposed(one, two):
        return "opposite"
    if one.negated:
        return None
    if _other_number(one, two):
        return "number"
    if _other_name(one, two):
        return "name"
    if _other_date(one, two):
        return "when"
    if _other_state(one, two):
        return "state"
    if _served_otherwise(one, two):
        return "taste"
    return one.verb if _elsewhere(one, two) or elsewhere(one, two) else None


def _deny(one: Predicate, two: Predicate) -> bool:
    """What one says the other denies, with no more than a word added on one side."""
    first, second = _meaning(one), _meaning(two)
    if any(opposite(a, b) for a, b in product(unmatched(first, second), unmatched(second, first))):
        return False
    shared, extra = (
        _shared(first, second) - one.owners - owners(first),
        max(len(unmatched(first, second)), len(unmatched(second, first))),
    )
    return bool(shared) and (not conflicting(first, second) or (len(shared) > 1 and extra <= 1))


def _meaning(predicate: Predicate) -> Words:
    """The words of what is said; a bare "is" or "has" says nothing."""
    verb = frozenset([predicate.verb]) - frozenset(["be", "have", "do", "get"])
    return (predicate.rest | verb) - _SAYS_NOTHING


_TIMES = frozenset(
    "dawn noon dusk midnight day night morning afternoon evening spring summer autumn winter early late".split()
)
_SAYS_NOTHING = frozenset(
    """without unable lack refuse fail nobody nothing able know learn manage any how need wear use want buy adopt
    acquire receive own""".split()
)


def _shared(first: Words, second: Words) -> Words:
    return first - unmatched(first, second)


def _opposed(one: Predicate, two: Predicate) -> bool:
    """They differ in words that exclude each other, and agree in the others."""
    first, second = _meaning(one), _meaning(two)
    only_first, only_second = unmatched(first, second), unmatched(second, first)
    pairs = [(a, b) for a, b in product(only_first, only_second) if opposite(a, b)]
    if not pairs:
        return False
    rest_first = only_first - {a for a, _ in pairs}
    rest_second = only_second - {b for _, b in pairs}
    if rest_first and rest_second and all(a in _TIMES for a, _ in pairs):
        return False
    return not (rest_first and rest_second) or (bool(_shared(first, second)) and len(rest_first | rest_second) <= 2)


def _other_number(one: Predicate, two: Predicate) -> bool:
    first, second = _meaning(one), _meaning(two)
    only_first, only_second = unmatched(first, second), unmatched(second, first)
    numbers_first, numbers_second = _numbers(first), _numbers(second)
    grows = two.verb in _GROWS and (two.link == "to" or two.rest <= _numbers(two.rest) | _BOUNDS)
    if not (grows or alike(one.verb, two.verb) or (_is_copular(one) and _is_copular(two))):
        return False
    changed = bool(numbers_first) and bool(numbers_second) and not numbers_first & numbers_second
    same_rest = not conflicting(only_first - numbers_first, only_second - numbers_second)
    return (
        changed and (same_rest or grows) and (grows or bool(_shared(first, second)) or len(first) == len(second) == 1)
    )


_DATES = frozenset(stem(word) for word in CALENDAR)
_ORDINALS = ("first", "second", "third")
_BOUNDS = frozenset("below above past nearly almost roughly around".split())
_GROWS = frozenset("rise fall climb drop increase decrease grow shrink reach jump double dwindle".split())


def _numbers(words: Words) -> Words:
    return frozenset(word for word in words if word[0].isdigit() or word in _ORDINALS)


def _other_state(one: Predicate, two: Predicate) -> bool:
    """They name different states of one series, and nothing else tells them apart."""
    if not (_is_copular(one) and _is_copular(two)):
        return False
    first, second = one.rest, two.rest
    for series in _STATES:
        here, there = ([state for state in series if words & state] for words in (first, second))
        if len(here) == len(there) == 1 and here != there:
            return "have" not in (one.verb, two.verb) or not conflicting(first - here[0], second - there[0])
    return False


def _other_date(one: Predicate, two: Predicate) -> bool:
    """On Mondays, no more on Wednesdays."""
    first, second = one.rest & _DATES, two.rest & _DATES
    same = alike(one.verb, two.verb) and not conflicting(one.rest - first, two.rest - second)
    return bool(first) and bool(second) and not first & second and same


def _other_name(one: Predicate, two: Predicate) -> bool:
    """Another name, where there is one: who somebody's manager is, whom somebody is married to."""
    if not alike(one.verb, two.verb):
        return False
    first, second = one.rest & one.names - CALENDAR, two.rest & two.names - CALENDAR
    if first & second and one.verb in _ONE_PARTY:  # of the same house, but another one
        first, second = first - second, second - first
    if not first or not second or first & second or conflicting(one.rest - first, two.rest - second):
        return False
    by_name_only = one.verb == "be" and not (one.rest - first or two.rest - second)
    return by_name_only or one.verb in _ONE_PARTY


_SERVED = frozenset("coffee tea steak egg whisky whiskey toast burger pizza".split())


def _served_otherwise(one: Predicate, two: Predicate) -> bool:
    """How somebody has their coffee."""
    served = _SERVED & one.rest & two.rest and {one.verb, two.verb} <= {
        "take",
        "drink",
        "like",
        "order",
        "eat",
        "prefer",
    }
    return bool(served) and one.link == two.link == "" and conflicting(one.rest, two.rest)


def _is_copular(predicate: Predicate) -> bool:
    return predicate.verb in ("be", "become", "turn", "feel", "look", "have", "grow")


def _elsewhere(one: Predicate, two: Predicate) -> bool:
    """One place, time, price or party at a time: both name one, of the same sort, and they differ."""
    if one.verb != two.verb or one.link != two.link or one.verb not in _ONE_AT_A_TIME:
        return False
    if one.verb == "work" and one.link == "on":
        return False
    if not one.link and one.verb not in _OF_AN_AMOUNT:
        return False
    first, second = unmatched(one.rest, two.rest), unmatched(two.rest, one.rest)
    if not first or not second:
        return False
    return bool(first & one.names - CALENDAR) == bool(second & two.names - CALENDAR)


_HARMLESS = frozenset(
    "repair fix improve restore renovate clean grow expand develop decorate paint bring become get".split()
)


def _turns(two: Predicate) -> bool:
    """It tells of a change, not of what somebody did with something else."""
    return (two.told or two.perfect) and two.verb in members("transition") - _HARMLESS and not two.negated


def _turned(one: Predicate, two: Predicate) -> bool:
    """A thing was in a state, and changed."""
    of_things = not one.subject & (one.names | members("person"))
    return of_things and one.verb == "be" and not one.told and _turns(two) and not alike(one.verb, two.verb)


def _had(one: Predicate, two: Predicate) -> bool:
    """Somebody had a thing, and this changed."""
    whose = frozenset(word.removesuffix("'s") for word in two.owners)
    has = one.verb in ("have", "own") and not one.told and not one.negated
    same = bool(two.subject) and not unmatched(two.subject, one.rest)
    return has and same and bool(whose & one.subject) and _turns(two) and (two.passive or not two.rest)


def _held_by_another(one: Predicate, two: Predicate) -> bool:
    """Another person has what only one has."""
    takes = one.verb in _ONE_HOLDER | _HOLDS and two.verb in _TAKES
    if (
        not (takes or (alike(one.verb, two.verb) and one.verb in _ONE_HOLDER))
        or one.negated
        or two.negated
        or (one.told and two.told)
    ):
        return False
    named = bool(one.rest & one.names & two.names) or not one.rest & one.names | two.rest & two.names
    if takes:
        return (
            bool(one.rest)
            and bool(_shared(one.rest, two.rest))
            and not conflicting(one.rest, two.rest)
            and not one.told
        )
    people = one.subject & (one.names | members("person")) and two.subject & (two.names | members("person"))
    return (
        bool(people or one.verb == two.verb == "own")
        and named
        and bool(_shared(one.rest, two.rest))
        and not conflicting(one.rest, two.rest)
    )
