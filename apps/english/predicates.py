"""Find the predicate of each clause of a statement: its subject, its verb, and the rest. Pure."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import pairwise, zip_longest

from apps.english.clauses import Clause, clauses
from apps.english.lexicon import members, stem
from apps.english.names import TITLES
from apps.english.words import Words, meaning, owners

_BE = frozenset("is are am was were be been being".split())
_AUXILIARY = _BE | frozenset(
    "has have had having do does did can could will would shall should may might must cannot got gets".split()
)
_PAST_AUXILIARY = frozenset("was were did had got".split())
_BETWEEN = frozenset(
    """not never also still just only now always often usually already no longer really quite finally both all again
    recently secretly officially currently once ever to going""".split()
)
_CONJUNCTIONS = ("and", "but", "then")
_SAME_IN_PAST = frozenset("become come run put cut left quit knit".split())
_AGENT_WORDS = 3  # maximum number of words after "by"


@dataclass(frozen=True)
class Predicate:
    """``subject`` and ``rest`` are the stems of the content words before and after the verb, ``names`` the proper names
    of the clause. ``told`` is true for an event, not a state; ``perfect`` for a perfect such as "has gone"."""

    subject: Words
    verb: str
    rest: Words
    names: Words
    told: bool
    perfect: bool


@lru_cache(maxsize=4096)
def predicates(text: str) -> tuple[Predicate, ...]:
    """Return the predicate of each clause that has a verb, in order."""
    found = (_predicate(part) for clause in clauses(text) for part in _split(clause))
    return tuple(predicate for predicate in found if predicate)


def _split(clause: Clause) -> list[Clause]:
    """Split "did and does" into two clauses of the same subject, and "Tom did and Mira does" into two."""
    first = _first_verb(clause)
    joints = [place for place, word in enumerate(clause.words) if word in _CONJUNCTIONS and place > (first or place)]
    other = next((place for place in joints if _begins_clause(clause, place + 1)), None)
    if other:
        return [*_split(_cut(clause, clause.words[:other])), *_split(_cut(clause, clause.words[other + 1 :]))]
    edges = [*(place for place in joints if _begins_verb(clause, place + 1)), len(clause.words)]
    tails = (clause.words[:first] + clause.words[start + 1 : end] for start, end in pairwise(edges))
    return [_cut(clause, words) for words in (clause.words[: edges[0]], *tails)]


def _cut(clause: Clause, words: tuple[str, ...]) -> Clause:
    return Clause(words, clause.names & frozenset(word.removesuffix("'s") for word in words))


def _first_verb(clause: Clause) -> int | None:
    return next((place for place in range(1, len(clause.words)) if _is_verb(clause, place)), None)


def _begins_clause(clause: Clause, place: int) -> bool:
    """Return whether a name and a verb begin at ``place``."""
    while place < len(clause.words) and clause.words[place] in TITLES:
        place += 1
    return place + 1 < len(clause.words) and clause.words[place] in clause.names and _is_verb(clause, place + 1)


def _begins_verb(clause: Clause, place: int) -> bool:
    word = next(iter(clause.words[place : place + 1]), "")
    if word in _AUXILIARY or word in _BETWEEN:
        return word in _AUXILIARY
    if word in clause.names or word.endswith(("'s", "ing")):
        return False
    return (stem(word) != word or word in _SAME_IN_PAST) and _may_be_verb(stem(word))


def _is_verb(clause: Clause, place: int) -> bool:
    word, previous = clause.words[place], clause.words[place - 1]
    if word in _AUXILIARY:
        return True
    if word in clause.names or word.endswith("'s") or previous.endswith("'s") or previous in ("a", "an", "the"):
        return False
    base = stem(word)
    follows_subject = previous in clause.names or previous.endswith("s") or previous in _BETWEEN
    if base in members("verb") and word not in _BETWEEN:
        return base != word or follows_subject
    return (base in members("noun_or_verb") and (follows_subject or word.endswith(("s", "ed")))) or (
        word == "left" and (follows_subject or previous in members("person"))
    )


def _predicate(clause: Clause) -> Predicate | None:
    first = _first_verb(clause)
    if first is None:
        return None
    place = _main_verb(clause, first)
    auxiliaries, verb = clause.words[first:place], clause.words[place]
    subject, rest = _without_titles(clause, 0, first), _without_titles(clause, place + 1, None)
    predicate = Predicate(
        subject=meaning(subject) - owners(subject),
        verb=stem(verb),
        rest=meaning(rest),
        names=frozenset(stem(name) for name in clause.names - TITLES),
        told=_is_told(verb, auxiliaries),
        perfect=auxiliaries[:1] in (("has",), ("have",)) and not verb.endswith("ing"),
    )
    if _BE & set(auxiliaries) and not verb.endswith("ing") and "by" in rest:
        return _active(predicate, rest)
    return predicate


def _active(passive: Predicate, rest: tuple[str, ...]) -> Predicate:
    """Turn the predicate of "A is done by B" into that of "B does A"."""
    agent = meaning(rest[rest.index("by") + 1 :][:_AGENT_WORDS])
    return replace(passive, subject=agent, rest=passive.subject | (passive.rest - agent))


def _main_verb(clause: Clause, first: int) -> int:
    """Return the place of the verb after its auxiliaries, or of the last of these."""
    place = first
    while clause.words[place] in _AUXILIARY:
        following = place + 1
        while following < len(clause.words) and clause.words[following] in _BETWEEN:
            following += 1
        if following >= len(clause.words) or not _continues(clause.words[place], clause.words[following]):
            return place
        place = following
    return place


def _continues(auxiliary: str, word: str) -> bool:
    """Return whether a word after an auxiliary is its main verb."""
    if word in _AUXILIARY:
        return True
    base = stem(word)
    if auxiliary in _BE or auxiliary.startswith(("ha", "ge", "go")):
        return (_may_be_verb(base) and base != word) or word in _SAME_IN_PAST
    return _may_be_verb(base)


def _may_be_verb(base: str) -> bool:
    return base in members("verb") or base in members("noun_or_verb")


def _without_titles(clause: Clause, start: int, end: int | None) -> tuple[str, ...]:
    words = clause.words[start:end]
    return tuple(
        word
        for word, following in zip_longest(words, words[1:], fillvalue="")
        if not (word in TITLES and following in clause.names)
    )


def _is_told(verb: str, auxiliaries: Iterable[str]) -> bool:
    for auxiliary in auxiliaries:
        return auxiliary in _PAST_AUXILIARY and not verb.endswith("ing")
    return verb != stem(verb) and not verb.endswith(("s", "ing")) and verb not in ("is", "are", "am")
