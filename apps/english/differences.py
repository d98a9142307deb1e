"""Find the differences between two statements. Without database access."""

import re
from dataclasses import dataclass
from itertools import product

from apps.english.clauses import USER, clauses, split_speaker
from apps.english.kept import keep_results
from apps.english.lexicon import are_antonyms, are_synonyms, stem, word_class
from apps.english.names import CALENDAR, TITLES, name_key
from apps.english.negation import is_negated
from apps.english.predicates import predicates, subject_words
from apps.english.words import NO_WORDS, Words, content_stems, possessives, unmatched

MIN_SHORT_FORM = 3  # letters of a short form of a name
_UNNAMED = frozenset([USER, "her", "his", "their"])
# Words that add little to what a statement says.
_LIGHT_WORDS = _UNNAMED | content_stems(
    """have own get be do make go come take keep become use sort one person somebody someone bit lot currently presently
    often usually always age year call name live say tell type located situated work job home during early place trade
    profession""".split()
)
# Of these, subject and object can be exchanged: "Tom met Ada" and "Ada met Tom" mean the same.
_SYMMETRIC_RELATIONS = frozenset(
    """marry engage date friend enemy rival ally meet near equal argue fight cousin sibling twin divorce partner be
    brother sister neighbour neighbor similar same""".split()
)
_NOT_ACTUAL = re.compile(
    r"\b(?:used to|almost|nearly|former(?:ly)?|once|pretend\w*|claim\w*|think\w*|believ\w*|suspect\w*|dream\w*)\b", re.I
)
# Relations to something that only one person has at a time.
_EXCLUSIVE = re.compile(
    r"\b(?:own|possess|hold|rule|lead|command|govern|head|control|run|reign)(?:s|es)?\b"
    r"|\b(?:is|are|has|have|carries|holds|becomes?|became) the\b|\b(?:belongs to|held by|owned by|in command)\b",
    re.IGNORECASE,
)
_PARTICLES = frozenset("on off in out up down with against without".split())
_PLACE_PREPOSITIONS = frozenset("under above below behind inside outside beneath beside between before after".split())


@dataclass(frozen=True)
class StatementWords:
    """Stems of a statement's content words, and those of them that are names or numbers."""

    words: Words
    names: Words
    numbers: Words
    negated: bool


@keep_results
def parse_statement(text: str) -> StatementWords:
    """Return the words by which a statement is compared, and whether it is negated."""
    words, names = NO_WORDS, NO_WORDS
    for clause in clauses(text):
        words |= frozenset(stem(word) for word in content_stems(clause.words))
        names |= frozenset(stem(name) for name in clause.names) | {word[:-2] for word in possessives(clause.words)}
    numbers = frozenset(word for word in words if word[0].isdigit())
    negated = is_negated(" ".join(clause.text for clause in clauses(text)))
    return StatementWords(words, (names & words) - _UNNAMED, numbers, negated)


def contradicts(old: str, new: str) -> bool:
    """Return whether similarly worded statements may say different things.

    They may if the newer one has another negation, number, name, particle ("on", "off") or single word, or if people
    have exchanged roles. An omission in the newer one is no difference.
    """
    older, newer = parse_statement(old), parse_statement(new)
    if newer.numbers - older.numbers or unmatched(newer.names, older.words):
        return True
    checks = negation_differs, actuality_differs, roles_swapped, particles_differ, one_word_differs
    return any(check(old, new) for check in checks)


def one_word_differs(old: str, new: str) -> bool:
    """Return whether two statements differ in one word only, unless it is an antonym and one of them is negated."""
    only_old, only_new = distinctive_words(old, new)
    cancelled = parse_statement(old).negated != parse_statement(new).negated and has_antonyms(old, new)
    return len(only_old) == len(only_new) == 1 and not cancelled


def negation_differs(old: str, new: str) -> bool:
    """Return whether only one statement is negated, without an antonym to cancel it out: not to like is to dislike."""
    return parse_statement(old).negated != parse_statement(new).negated and not has_antonyms(old, new)


def has_antonyms(old: str, new: str) -> bool:
    """Return whether a word of one statement is an antonym of a word of the other."""
    return any(are_antonyms(*pair) for pair in product(*distinctive_words(old, new)))


def identifiers_differ(old: str, new: str) -> bool:
    """Return whether a number or a name has changed, or two people have exchanged roles."""
    older, newer = parse_statement(old), parse_statement(new)
    numbers = older.numbers - newer.numbers and newer.numbers - older.numbers
    names = unmatched(older.names, newer.words) and unmatched(newer.names, older.words)
    return bool(numbers or names) or roles_swapped(old, new)


def distinctive_words(old: str, new: str) -> tuple[Words, Words]:
    """Return each statement's content words without a synonym in the other, except light words and names."""
    older, newer = parse_statement(old), parse_statement(new)
    return (
        unmatched(older.words, newer.words) - _LIGHT_WORDS - newer.names,
        unmatched(newer.words, older.words) - _LIGHT_WORDS - older.names,
    )


def particles_differ(old: str, new: str) -> bool:
    """Return whether two statements differ in a particle or a preposition of place: on and off, under and behind."""
    older, newer = ({word for clause in clauses(text) for word in clause.words} for text in (old, new))
    old_particles, new_particles = (older - newer) & _PARTICLES, (newer - older) & _PARTICLES
    old_places, new_places = older & _PLACE_PREPOSITIONS, newer & _PLACE_PREPOSITIONS
    return bool(old_particles and new_particles) or bool(old_places and new_places and not old_places & new_places)


def roles_swapped(old: str, new: str) -> bool:
    """Return whether two people have exchanged roles: who acts, and on whom."""
    for older, newer in product(predicates(old), predicates(new)):
        if (older.rest | newer.rest | {older.verb, newer.verb}) & _SYMMETRIC_RELATIONS or older.subject & newer.subject:
            continue
        swapped = older.subject & newer.rest & older.names and newer.subject & older.rest & newer.names
        if swapped and are_synonyms(older.verb, newer.verb):
            return True
    return False


def people_differ(old: str, new: str) -> bool:
    """Return whether two statements are certainly about different people: neither names the people of the other.

    Subjects without a name are compared by whose they are, and by words such as "sister" and "brother". The short form
    of a name counts as the same name. What only one person can have, such as a shop or a throne, may change hands.
    """
    if _EXCLUSIVE.search(old) and _EXCLUSIVE.search(new):
        return False
    older, newer = _people(old), _people(new)
    if older.named or newer.named:
        return _are_distinct(older.named, newer.all_words) and _are_distinct(newer.named, older.all_words)
    return _are_distinct(older.owners, newer.owners) or _are_distinct(older.kin, newer.kin)


def _are_distinct(first: Words, second: Words) -> bool:
    """Return whether both have words, and none of one is a synonym, or the short form, of one of the other."""
    return bool(first and second) and not any(
        are_synonyms(word, other)
        or (min(len(word), len(other)) >= MIN_SHORT_FORM and (word.startswith(other) or other.startswith(word)))
        for word, other in product(first, second)
    )


@dataclass(frozen=True)
class _People:
    """Whom a statement is about: names in its subject, names of those to whom that belongs, and words such as "sister".

    ``all_words`` are those of the whole statement. That something is the speaker's names nobody.
    """

    named: Words
    owners: Words
    kin: Words
    all_words: Words


@keep_results
def _people(text: str) -> _People:
    clause, words = subject_words(text)
    speaker = f"{name_key(split_speaker(text)[0]) or USER}'s"
    subject = frozenset(words) - {speaker}
    names = clause.names - CALENDAR - TITLES
    owners = frozenset(word.removesuffix("'s") for word in possessives(subject))
    all_words = frozenset(word.removesuffix("'s") for part in clauses(text) for word in part.words if word != speaker)
    return _People(subject & names, owners & names, frozenset(map(stem, subject)) & word_class("kin"), all_words)


def event_follows_state(old: str, new: str) -> bool:
    """Return whether the older statement describes a state and the newer one a later event."""
    _, only_new = distinctive_words(old, new)
    events = (predicate for predicate in predicates(new) if predicate.is_past or predicate.is_perfect)
    return any(event.verb in only_new for event in events) and not any(state.is_past for state in predicates(old))


def actuality_differs(old: str, new: str) -> bool:
    """Return whether only one of them says that something is no longer, nearly, or only supposedly so."""
    return bool(_NOT_ACTUAL.search(old)) != bool(_NOT_ACTUAL.search(new))
