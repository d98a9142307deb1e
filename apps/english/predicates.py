"""Find the predicate of each clause of a statement: subject, verb and the words after it. Without database access."""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import pairwise, zip_longest

from apps.english.clauses import Clause, clauses
from apps.english.kept import keep_results
from apps.english.lexicon import stem, word_class
from apps.english.names import TITLES
from apps.english.words import Words, content_stems, possessives

_BE = frozenset("is are am was were be been being".split())
_AUXILIARY = _BE | frozenset(
    "has have had having do does did can could will would shall should may might must cannot got gets".split()
)
_PAST_AUXILIARY = frozenset("was were did had got".split())
_VERB_MODIFIERS = frozenset(
    """not never also still just only now always often usually already no longer really quite finally both all again
    recently secretly officially currently once ever to going""".split()
)
_CONJUNCTIONS = ("and", "but", "then")
_SAME_IN_PAST = frozenset("become come run put cut left quit knit".split())
_AGENT_WORDS = 3  # maximum number of words after "by"


@dataclass(frozen=True)
class Predicate:
    """``subject`` and ``rest`` are the stems of the content words before and after the verb, ``names`` its proper
    names. ``is_past`` means the simple past, as of events, and ``is_perfect`` a perfect such as "has gone"."""

    subject: Words
    verb: str
    rest: Words
    names: Words
    is_past: bool
    is_perfect: bool


@keep_results
def predicates(text: str) -> tuple[Predicate, ...]:
    """Return the predicate of each clause that has a verb, in order."""
    parsed = (_parse_predicate(part) for clause in clauses(text) for part in _split_coordinated(clause))
    return tuple(predicate for predicate in parsed if predicate)


def subject_words(text: str) -> tuple[Clause, tuple[str, ...]]:
    """Return the first clause that has a verb, and the words before the verb; an empty clause without one."""
    for clause in clauses(text):
        first = _first_verb(clause)
        if first is not None:
            return clause, clause.words[:first]
    return Clause((), frozenset()), ()


def _split_coordinated(clause: Clause) -> list[Clause]:
    """Split coordinated predicates: both "Tom did and does" and "Tom did and Mira does" become two clauses."""
    first = _first_verb(clause)
    candidates = (index for index, word in enumerate(clause.words) if word in _CONJUNCTIONS)
    conjunctions = [index for index in candidates if index > (first or index)]
    second = next((index for index in conjunctions if _begins_clause(clause, index + 1)), None)
    if second:
        parts = (clause.words[:second], clause.words[second + 1 :])
        return [part for words in parts for part in _split_coordinated(_subclause(clause, words))]
    boundaries = [*(index for index in conjunctions if _begins_verb(clause, index + 1)), len(clause.words)]
    tails = (clause.words[:first] + clause.words[start + 1 : end] for start, end in pairwise(boundaries))
    return [_subclause(clause, words) for words in (clause.words[: boundaries[0]], *tails)]


def _subclause(clause: Clause, words: tuple[str, ...]) -> Clause:
    return Clause(words, clause.names & frozenset(word.removesuffix("'s") for word in words))


def _first_verb(clause: Clause) -> int | None:
    return next((index for index in range(1, len(clause.words)) if _is_verb(clause, index)), None)


def _begins_clause(clause: Clause, index: int) -> bool:
    """Return whether a name and then a verb stand at ``index``."""
    while index < len(clause.words) and clause.words[index] in TITLES:
        index += 1
    return index + 1 < len(clause.words) and clause.words[index] in clause.names and _is_verb(clause, index + 1)


def _begins_verb(clause: Clause, index: int) -> bool:
    word = next(iter(clause.words[index : index + 1]), "")
    if word in _AUXILIARY or word in _VERB_MODIFIERS:
        return word in _AUXILIARY
    if word in clause.names or word.endswith(("'s", "ing")):
        return False
    return (stem(word) != word or word in _SAME_IN_PAST) and _may_be_verb(stem(word))


def _is_verb(clause: Clause, index: int) -> bool:
    word, previous = clause.words[index], clause.words[index - 1]
    if word in _AUXILIARY:
        return True
    if word in clause.names or word.endswith("'s") or previous.endswith("'s") or previous in ("a", "an", "the"):
        return False
    base = stem(word)
    follows_subject = previous in clause.names or previous.endswith("s") or previous in _VERB_MODIFIERS
    if base in word_class("verb") and word not in _VERB_MODIFIERS:
        return base != word or follows_subject
    return (base in word_class("noun_or_verb") and (follows_subject or word.endswith(("s", "ed")))) or (
        word == "left" and (follows_subject or previous in word_class("person"))
    )


def _parse_predicate(clause: Clause) -> Predicate | None:
    first = _first_verb(clause)
    if first is None:
        return None
    position = _main_verb(clause, first)
    auxiliaries, verb = clause.words[first:position], clause.words[position]
    subject, rest = _without_titles(clause, 0, first), _without_titles(clause, position + 1, None)
    predicate = Predicate(
        subject=content_stems(subject) - possessives(subject),
        verb=stem(verb),
        rest=content_stems(rest),
        names=frozenset(stem(name) for name in clause.names - TITLES),
        is_past=_is_past(verb, auxiliaries),
        is_perfect=auxiliaries[:1] in (("has",), ("have",)) and not verb.endswith("ing"),
    )
    if _BE & set(auxiliaries) and not verb.endswith("ing") and "by" in rest:
        return _to_active(predicate, rest)
    return predicate


def _to_active(passive: Predicate, rest: tuple[str, ...]) -> Predicate:
    """Turn the predicate of "A is done by B" into that of "B does A"."""
    agent = content_stems(rest[rest.index("by") + 1 :][:_AGENT_WORDS])
    return replace(passive, subject=agent, rest=passive.subject | (passive.rest - agent))


def _main_verb(clause: Clause, first: int) -> int:
    """Return the position of the verb after its auxiliaries, or of the last auxiliary if no verb follows."""
    position = first
    while clause.words[position] in _AUXILIARY:
        following = position + 1
        while following < len(clause.words) and clause.words[following] in _VERB_MODIFIERS:
            following += 1
        if following >= len(clause.words) or not _follows_auxiliary(clause.words[position], clause.words[following]):
            return position
        position = following
    return position


def _follows_auxiliary(auxiliary: str, word: str) -> bool:
    """Return whether a word after an auxiliary is another auxiliary or the main verb."""
    if word in _AUXILIARY:
        return True
    base = stem(word)
    if auxiliary in _BE or auxiliary.startswith(("ha", "ge", "go")):
        return (_may_be_verb(base) and base != word) or word in _SAME_IN_PAST
    return _may_be_verb(base)


def _may_be_verb(base: str) -> bool:
    return base in word_class("verb") or base in word_class("noun_or_verb")


def _without_titles(clause: Clause, start: int, end: int | None) -> tuple[str, ...]:
    words = clause.words[start:end]
    return tuple(
        word
        for word, following in zip_longest(words, words[1:], fillvalue="")
        if not (word in TITLES and following in clause.names)
    )


def _is_past(verb: str, auxiliaries: Iterable[str]) -> bool:
    for auxiliary in auxiliaries:
        return auxiliary in _PAST_AUXILIARY and not verb.endswith("ing")
    return verb != stem(verb) and not verb.endswith(("s", "ing")) and verb not in ("is", "are", "am")
